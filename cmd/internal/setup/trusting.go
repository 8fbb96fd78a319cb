package setup

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
)

// FollowingTransport is like Transport, but reads caFile again when it changes. Connections made before stay in use for
// the requests in progress.
func FollowingTransport(caFile string, log *slog.Logger) (*http.Client, error) {
	if caFile == "" {
		return Transport("")
	}
	roots, err := Watch(log, func() (*x509.CertPool, error) { return rootsWith(caFile) }, caFile)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: &trusting{roots: roots}}, nil
}

// Roots returns the certificate authorities that such a client trusts now; nil: those of the system.
func Roots(client *http.Client) *x509.CertPool {
	if t, is := client.Transport.(*trusting); is {
		return t.roots.Get()
	}
	return nil
}

// rootsWith returns the system's certificate authorities and those of a PEM file.
func rootsWith(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // a system without certificates
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: it contains no PEM certificate", file)
	}
	return roots, nil
}

// A trusting trusts the authorities of a file. A tls.Config cannot change while it is in use, so each content of the
// file has a transport.
type trusting struct {
	roots *Watched[*x509.CertPool]

	mu        sync.Mutex
	transport *http.Transport // trusts with; nil before the first request
	with      *x509.CertPool
}

func (t *trusting) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.current().RoundTrip(r)
}

// CloseIdleConnections serves http.Client.
func (t *trusting) CloseIdleConnections() { t.current().CloseIdleConnections() }

func (t *trusting) current() *http.Transport {
	roots := t.roots.Get()
	t.mu.Lock()
	defer t.mu.Unlock()
	if roots != t.with {
		if t.transport != nil {
			t.transport.CloseIdleConnections()
		}
		t.transport, t.with = transport(), roots
		t.transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	return t.transport
}

// Transport returns a client for the services of an account that keeps enough connections for all jobs of a worker. It
// trusts the system's certificate authorities and those in caFile, which may be empty.
func Transport(caFile string) (*http.Client, error) {
	t := transport()
	if caFile == "" {
		return &http.Client{Transport: t}, nil
	}
	roots, err := rootsWith(caFile)
	if err != nil {
		return nil, err
	}
	t.TLSClientConfig = &tls.Config{RootCAs: roots}
	return &http.Client{Transport: t}, nil
}

func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 256
	return t
}
