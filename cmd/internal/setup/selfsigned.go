package setup

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"furrow/tables/local"
)

// A server's certificate is valid for certificateLife, and is replaced renewBefore its end, also while the server
// runs. The authority's certificate stays, because devices have it.
const (
	authorityLife   = 10 * 365 * 24 * time.Hour
	certificateLife = 90 * 24 * time.Hour
	renewBefore     = 30 * 24 * time.Hour
)

// SelfSigned serves a certificate for the hosts, signed by an authority of its own. Both are created once and kept in
// dir, readable only by the owner. Clients need the file ca.pem. The authority can sign for the hosts of its first
// start
// alone; later ones are left out.
func SelfSigned(dir string, hosts []string, log *slog.Logger) (*TLS, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	ca, err := openAuthority(dir, hosts)
	if err != nil {
		return nil, err
	}
	s := &selfSigned{ca: ca, file: filepath.Join(dir, "server.pem"), hosts: ca.permitted(hosts, log), log: log}
	if s.current, err = loadPair(s.file, s.file); err != nil || !s.good(s.current.Leaf) {
		if err := s.renew(); err != nil { // whatever is wrong with the old one
			return nil, err
		}
	}
	return &TLS{
		Config:      configFor(s.certificate),
		Fingerprint: fingerprint(s.current.Certificate[0]),
		CAFile:      ca.file, CAFingerprint: fingerprint(ca.certificate.Raw),
	}, nil
}

type selfSigned struct {
	ca    *authority
	file  string // certificate and key together, so that they change together
	hosts []string
	log   *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
}

// good tells whether our authority has signed a certificate, and whether it is valid for all hosts and long enough.
func (s *selfSigned) good(leaf *x509.Certificate) bool {
	if leaf.CheckSignatureFrom(s.ca.certificate) != nil || time.Until(leaf.NotAfter) < renewBefore {
		return false
	}
	for _, host := range s.hosts {
		if leaf.VerifyHostname(host) != nil {
			return false
		}
	}
	return true
}

func (s *selfSigned) renew() error {
	pair, pem, err := s.ca.issue(s.hosts)
	if err != nil {
		return err
	}
	if err := local.WriteSecret(s.file, string(pem)); err != nil {
		return err
	}
	s.current = pair
	return nil
}

// certificate renews the certificate when it is due. If that fails, it keeps the old one.
func (s *selfSigned) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Until(s.current.Leaf.NotAfter) < renewBefore {
		if err := s.renew(); err != nil {
			s.log.Warn("certificate not renewed", "expires", s.current.Leaf.NotAfter, "error", err)
		}
	}
	return s.current, nil
}
