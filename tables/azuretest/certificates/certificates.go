// Package certificates makes certificate authorities for tests, and certificates that they sign.
package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

// An Authority signs certificates.
type Authority struct {
	Certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// New makes an authority that has signed itself.
func New(t testing.TB, name string) Authority {
	t.Helper()
	a := Authority{key: must.Have(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)}
	of := template(name)
	of.IsCA, of.BasicConstraintsValid, of.KeyUsage = true, true, x509.KeyUsageCertSign
	der := must.Have(x509.CreateCertificate(rand.Reader, of, of, a.key.Public(), a.key))(t)
	a.Certificate = must.Have(x509.ParseCertificate(der))(t)
	return a
}

// Below makes an authority whose certificate a has signed.
func (a Authority) Below(t testing.TB, name string) Authority {
	t.Helper()
	pair := a.Sign(t, name, "", func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	})
	return Authority{pair.Leaf, pair.PrivateKey.(*ecdsa.PrivateKey)}
}

// Sign makes the certificate of a TLS client, with changes: its common name, and its organizational unit unless that
// is empty. It is valid for an hour.
func (a Authority) Sign(t testing.TB, name, unit string, changes ...func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key := must.Have(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	c := template(name)
	if unit != "" {
		c.Subject.OrganizationalUnit = []string{unit}
	}
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	for _, change := range changes {
		change(c)
	}
	der := must.Have(x509.CreateCertificate(rand.Reader, c, a.Certificate, key.Public(), a.key))(t)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: must.Have(x509.ParseCertificate(der))(t)}
}

// OfServer makes the change of Sign for a server on 127.0.0.1.
func OfServer(c *x509.Certificate) {
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
}

// template returns a certificate without usages.
func template(name string) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name}, SerialNumber: big.NewInt(time.Now().UnixNano()),
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
}

// PEM encodes certificates.
func PEM(all ...*x509.Certificate) (text []byte) {
	for _, c := range all {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return text
}

// Write writes a certificate and its key to two files in dir, and returns their names.
func Write(t testing.TB, dir string, pair tls.Certificate) (certFile, keyFile string) {
	t.Helper()
	certFile, keyFile = filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.key")
	key := must.Have(x509.MarshalPKCS8PrivateKey(pair.PrivateKey))(t)
	Replace(t, certFile, PEM(pair.Leaf))
	Replace(t, keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	return certFile, keyFile
}

// Replace puts another file in the place of the one with that name, as tools do that renew certificates.
func Replace(t testing.TB, name string, content []byte) {
	t.Helper()
	must.Succeed(t, os.WriteFile(name+".new", content, 0o600))
	must.Succeed(t, os.Rename(name+".new", name))
}
