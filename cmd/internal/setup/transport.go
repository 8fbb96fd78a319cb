package setup

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
)

// Transport returns a client for the services of an account that keeps enough connections for all jobs of a worker. It
// trusts the system's certificate authorities and those in caFile, which may be empty.
func Transport(caFile string) (*http.Client, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 256
	if caFile == "" {
		return &http.Client{Transport: t}, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool() // a system without certificates
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New(caFile + " contains no PEM certificate")
	}
	t.TLSClientConfig = &tls.Config{RootCAs: roots}
	return &http.Client{Transport: t}, nil
}
