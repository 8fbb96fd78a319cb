package setup

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
)

// Transport returns a client for the services of an account that keeps enough connections for all jobs of a worker. It
// trusts the system's certificate authorities and those in caFile, which may be empty.
func Transport(caFile string) (*http.Client, error) {
	t := transport()
	if caFile == "" {
		return &http.Client{Transport: t}, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	roots, err := rootsWith(pem)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", caFile, err)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: roots}
	return &http.Client{Transport: t}, nil
}

func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 256
	return t
}
