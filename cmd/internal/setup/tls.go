package setup

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// A TLS is the certificate of a server.
type TLS struct {
	Config        *tls.Config
	Fingerprint   string   // SHA-256 of the server's certificate when it was loaded; empty with ACME
	Hosts         []string // whose certificates an ACME authority issues
	CAFile        string   // of the authority that clients must trust; empty if the certificate was given
	CAFingerprint string   // SHA-256 of that authority's certificate

	served atomic.Pointer[tls.Certificate] // that ACME served last, of the first host
}

// End returns when the certificate in use ends, or zero if there is none yet.
func (t *TLS) End() time.Time {
	if len(t.Hosts) > 0 {
		if c := t.served.Load(); c != nil {
			return c.Leaf.NotAfter
		}
		return time.Time{}
	}
	c, err := t.Config.GetCertificate(&tls.ClientHelloInfo{})
	if err != nil || c.Leaf == nil {
		return time.Time{}
	}
	return c.Leaf.NotAfter
}

// Files serves a certificate and its key from two PEM files. It reads them again when they change. If that fails, it
// logs the error and keeps the certificate that it has.
func Files(certFile, keyFile string, log *slog.Logger) (*TLS, error) {
	w, err := Watch(log, func() (*tls.Certificate, error) {
		pair, err := loadPair(certFile, keyFile)
		if err != nil {
			err = fmt.Errorf("certificate %s with key %s: %w", certFile, keyFile, err)
		}
		return pair, err
	}, certFile, keyFile)
	if err != nil {
		return nil, err
	}
	get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return w.Get(), nil }
	return &TLS{Config: configFor(get), Fingerprint: fingerprint(w.Get().Certificate[0])}, nil
}

func configFor(get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get, NextProtos: []string{"http/1.1"}}
}

// fingerprint formats a SHA-256 as openssl does.
func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}

// Hosts returns the names and addresses in the certificate of a server on a listen address: loopback, the address
// itself and, for a server on all addresses, the machine's name and the addresses of its interfaces.
func Hosts(listen string) ([]string, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, err
	}
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	ip := net.ParseIP(host)
	switch {
	case host == "" || ip != nil && ip.IsUnspecified():
		return append(hosts, machine()...), nil
	case ip != nil && ip.IsLoopback() || host == "localhost":
		return hosts, nil
	}
	return append(hosts, host), nil
}

// machine returns this machine's name and its addresses other than loopback, as far as the system knows them.
func machine() []string {
	var names []string
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	for _, ip := range Addresses() {
		names = append(names, ip.String())
	}
	return names
}

// Addresses returns the addresses of this machine's interfaces without loopback and link-local ones.
func Addresses() []net.IP {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var ips []net.IP
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			ips = append(ips, n.IP)
		}
	}
	return ips
}

// Scheme returns http or https. A nil TLS is a server without TLS, here and in the other methods.
func (t *TLS) Scheme() string {
	if t == nil {
		return "http"
	}
	return "https"
}

// ServerConfig returns the configuration of a server, nil without TLS.
func (t *TLS) ServerConfig() *tls.Config {
	if t == nil {
		return nil
	}
	return t.Config
}
