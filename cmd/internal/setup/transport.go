package setup

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
)

// Transport is a client for the services of an account, which a worker's jobs
// share: it keeps a connection for each of them. It trusts the authorities in
// caFile besides those of the system; an empty caFile is none.
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
		roots = x509.NewCertPool() // a system without any
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New(caFile + " holds no PEM certificate")
	}
	t.TLSClientConfig = &tls.Config{RootCAs: roots}
	return &http.Client{Transport: t}, nil
}
