package setup

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
)

// DeviceAuthorities returns a function that returns the certificate authorities in a PEM file as it is now.
func DeviceAuthorities(file string, log *slog.Logger) (func() *x509.CertPool, error) {
	w, err := Watch(file, log, func(content []byte) (*x509.CertPool, error) {
		pool, err := authoritiesOf(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return pool, nil
	})
	if err != nil {
		return nil, err
	}
	return w.Get, nil
}

// authoritiesOf parses the certificates of a PEM file, which must all be of authorities. Private keys have no place in
// it: whoever has that of an authority can pose as any device.
func authoritiesOf(content []byte) (*x509.CertPool, error) {
	pool, found := x509.NewCertPool(), false
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it has a block %q: leave only certificates of authorities in it", block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		if !c.IsCA {
			return nil, fmt.Errorf("the certificate of %q is not one of an authority", c.Subject)
		}
		pool.AddCert(c)
		found = true
	}
	if !found {
		return nil, errors.New("it has no certificate in PEM")
	}
	return pool, nil
}
