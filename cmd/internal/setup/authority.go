package setup

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"furrow/tables/local"
)

// TLSFolder, in a data directory, holds its certificate authority and its certificates.
const TLSFolder = "tls"

// An authority signs the certificates of a data directory.
type authority struct {
	file        string // its certificate, for clients
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// openAuthority loads the authority in dir, or creates it for the hosts. A certificate without its key is an error:
// clients trust it, so it must not be replaced silently.
func openAuthority(dir string, hosts []string) (*authority, error) {
	file, keyFile := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca.key")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return newAuthority(file, keyFile, hosts)
	}
	pair, err := loadPair(file, keyFile)
	if err != nil {
		return nil, fmt.Errorf("the certificate authority in %s: %w; put its files back, or remove %s to create a new one "+
			"and give that to clients", dir, err, file)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s is not an ECDSA key, so furrow did not create it", keyFile)
	}
	return &authority{file, pair.Leaf, key}, nil
}

func loadPair(certFile, keyFile string) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	return &pair, err
}

// newAuthority writes the key first: a key without a certificate is overwritten the next time.
func newAuthority(file, keyFile string, hosts []string) (*authority, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	template, err := newCertificate("Furrow on "+host, authorityLife)
	if err != nil {
		return nil, err
	}
	template.IsCA, template.MaxPathLenZero = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	constrain(template, hosts)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	if err := local.WriteSecret(keyFile, string(keyPEM)); err != nil {
		return nil, err
	}
	return &authority{file, certificate, key}, local.WriteSecret(file, string(encodeCertificate(der)))
}

// issue creates a server's certificate with a new key, and also returns both as PEM.
func (a *authority) issue(hosts []string) (*tls.Certificate, []byte, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	template, err := newCertificate("Furrow storage", certificateLife)
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	both := append(encodeCertificate(der), keyPEM...)
	pair, err := tls.X509KeyPair(both, both)
	return &pair, both, err
}

// newCertificate returns a template that is valid since an hour ago, for clients whose clock is behind.
func newCertificate(name string, life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(life),
	}, nil
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// newKey returns a new key, also as PEM.
func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), err
}

// DeviceAuthorities returns a function that returns the certificate authorities in a PEM file as it is now.
func DeviceAuthorities(file string, log *slog.Logger) (func() *x509.CertPool, error) {
	w, err := Watch(log, func() (*x509.CertPool, error) {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		pool, err := authoritiesOf(content)
		if err != nil {
			err = fmt.Errorf("%s: %w", file, err)
		}
		return pool, err
	}, file)
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
