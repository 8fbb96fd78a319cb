package setup

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A server's certificate lives for certificateLife, and is replaced when less
// than renewBefore of it is left, also while the server runs. The authority's
// stays: it is what devices were given.
const (
	authorityLife   = 10 * 365 * 24 * time.Hour
	certificateLife = 90 * 24 * time.Hour
	renewBefore     = 30 * 24 * time.Hour
)

// SelfSigned serves a certificate for the hosts, made by an authority of its
// own. Both are made once and kept in dir, readable by the owner alone; ca.pem in
// there is the one file to give to clients.
func SelfSigned(dir string, hosts []string, log *slog.Logger) (*TLS, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	ca, err := openAuthority(dir)
	if err != nil {
		return nil, err
	}
	s := &selfSigned{ca: ca, file: filepath.Join(dir, "server.pem"), hosts: hosts, log: log}
	if s.current, err = loadPair(s.file, s.file); err != nil || !s.good(s.current.Leaf) {
		if err := s.renew(); err != nil { // whatever is wrong with the old one, a new one mends it
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

// good tells whether a certificate is ours, for all hosts, and far from its end.
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
	if err := writeFile(s.file, pem); err != nil {
		return err
	}
	s.current = pair
	return nil
}

// certificate renews when it is time. If that does not work, the old one serves
// for as long as it lasts.
func (s *selfSigned) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Until(s.current.Leaf.NotAfter) < renewBefore {
		if err := s.renew(); err != nil {
			s.log.Warn("the certificate cannot be renewed", "expires", s.current.Leaf.NotAfter, "error", err)
		}
	}
	return s.current, nil
}
