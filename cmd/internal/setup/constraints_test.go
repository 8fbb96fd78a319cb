package setup

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"
	"furrow/tables/local"
)

func TestAuthorityCanSignForItsHostsAlone(t *testing.T) {
	dir := t.TempDir()
	served := mustSelfSign(t, dir, "box.example", "10.1.2.3", "203.0.113.7", "2001:db8::7")
	ca := must.Have(openAuthority(dir, nil))(t)
	verify := func(host string) error {
		pair, _, err := ca.issue([]string{host})
		must.Succeed(t, err)
		_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots(t, served.CAFile), DNSName: host})
		return err
	}
	for _, host := range []string{"localhost", "127.0.0.1", "::1", "box.example", "Box.Example", "a.box.example",
		"10.1.2.3", "10.200.0.1", "203.0.113.7", "2001:db8::7"} {
		if err := verify(host); err != nil || !ca.permits(host) {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, host := range []string{"other.example", "example", "notbox.example", "192.168.1.1", "203.0.113.8",
		"2001:db8::8", "fd00::1"} {
		err := verify(host)
		invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
		if !ok || invalid.Reason != x509.CANotAuthorizedForThisName || ca.permits(host) {
			t.Errorf("a certificate for %s: %v", host, err)
		}
	}
}

func TestHostThatTheAuthorityMayNotSignForIsLeftOutAndLogged(t *testing.T) {
	dir := t.TempDir()
	first := mustSelfSign(t, dir, "box.example")
	var logged bytes.Buffer
	served, err := SelfSigned(dir, []string{"box.example", "other.example"}, slog.New(slog.NewTextHandler(&logged, nil)))
	must.Succeed(t, err)
	if names := leaf(t, served).DNSNames; !slices.Equal(names, []string{"box.example"}) ||
		served.CAFingerprint != first.CAFingerprint {
		t.Errorf("it serves %v, with another authority: %v", names, served.CAFingerprint != first.CAFingerprint)
	}
	if n := strings.Count(logged.String(), "host=other.example"); n != 1 || !strings.Contains(logged.String(), "ca.pem") {
		t.Errorf("the log says %q", logged.String())
	}
}

// Devices have the authority of an earlier version, so it has to remain in use.
func TestAuthorityWithoutConstraintsSignsForEveryHost(t *testing.T) {
	dir := t.TempDir()
	key, keyPEM, err := newKey()
	must.Succeed(t, err)
	template := must.Have(newCertificate("an earlier version", authorityLife))(t)
	template.IsCA, template.MaxPathLenZero, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der := must.Have(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	must.Succeed(t, local.WriteSecret(filepath.Join(dir, "ca.pem"), string(encodeCertificate(der))))
	must.Succeed(t, local.WriteSecret(filepath.Join(dir, "ca.key"), string(keyPEM)))
	served := mustSelfSign(t, dir, "any.example", "203.0.113.9")
	for _, host := range []string{"any.example", "203.0.113.9"} {
		if _, err := leaf(t, served).Verify(x509.VerifyOptions{Roots: roots(t, served.CAFile), DNSName: host}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}
