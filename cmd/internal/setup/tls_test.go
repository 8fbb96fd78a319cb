package setup

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables/azuretest/must"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func mustSelfSign(t *testing.T, dir string, hosts ...string) *TLS {
	t.Helper()
	made := must.Have(SelfSigned(dir, hosts, quiet()))(t)
	return made
}

// leaf is what a client would be shown now.
func leaf(t *testing.T, served *TLS) *x509.Certificate {
	t.Helper()
	pair := must.Have(served.Config.GetCertificate(&tls.ClientHelloInfo{}))(t)
	return pair.Leaf
}

func roots(t *testing.T, caFile string) *x509.CertPool {
	t.Helper()
	pem := must.Have(os.ReadFile(caFile))(t)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		t.Fatalf("%s holds no certificate", caFile)
	}
	return pool
}

func TestClientWithTheCAFileTrustsEveryHost(t *testing.T) {
	served := mustSelfSign(t, t.TempDir(), "localhost", "127.0.0.1", "::1", "box.example")
	for _, host := range []string{"localhost", "127.0.0.1", "::1", "box.example"} {
		here, there := net.Pipe()
		go func() { _ = tls.Server(here, served.Config).Handshake() }() // the client's side is looked at
		client := tls.Client(there, &tls.Config{ServerName: host, RootCAs: roots(t, served.CAFile)})
		if err := client.Handshake(); err != nil {
			t.Errorf("%s: %v", host, err)
			continue
		}
		if got := fingerprint(client.ConnectionState().PeerCertificates[0].Raw); got != served.Fingerprint {
			t.Errorf("%s: fingerprint %s, printed was %s", host, got, served.Fingerprint)
		}
	}
	if err := leaf(t, served).VerifyHostname("other.example"); err == nil {
		t.Error("the certificate is good for a host that it was not made for")
	}
}

func TestCertificateOutlivesRestartsAndTheAuthorityOutlivesIt(t *testing.T) {
	dir := t.TempDir()
	first := mustSelfSign(t, dir, "localhost", "10.1.2.4")
	again := mustSelfSign(t, dir, "localhost", "10.1.2.4")
	if again.Fingerprint != first.Fingerprint {
		t.Error("a restart made another certificate")
	}
	wider := mustSelfSign(t, dir, "localhost", "10.1.2.3")
	if wider.Fingerprint == first.Fingerprint {
		t.Error("one more host did not make another certificate")
	}
	if wider.CAFingerprint != first.CAFingerprint {
		t.Error("one more host made another authority, which no client trusts yet")
	}
}

func TestCertificateIsRenewedWhileServed(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		served := mustSelfSign(t, dir, "localhost")
		first := leaf(t, served)
		time.Sleep(certificateLife - renewBefore - time.Hour)
		if !leaf(t, served).Equal(first) {
			t.Error("the certificate was renewed too early")
		}
		time.Sleep(2 * time.Hour)
		next := leaf(t, served)
		if next.Equal(first) {
			t.Error("the certificate was not renewed")
		}
		if _, err := next.Verify(x509.VerifyOptions{Roots: roots(t, served.CAFile), CurrentTime: time.Now(),
			DNSName: "localhost"}); err != nil {
			t.Errorf("the new certificate is not trusted: %v", err)
		}
	})
}

func TestRenewalThatFailsKeepsTheOldCertificate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tls")
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		served := must.Have(SelfSigned(dir, []string{"localhost"}, slog.New(slog.NewTextHandler(&logged, nil))))(t)
		first := leaf(t, served)
		must.Succeed(t, os.RemoveAll(dir))
		time.Sleep(certificateLife - renewBefore + time.Hour)
		if !leaf(t, served).Equal(first) {
			t.Error("another certificate is served, which was not kept")
		}
		if !strings.Contains(logged.String(), "certificate not renewed") {
			t.Errorf("the log does not tell: %q", logged.String())
		}
	})
}

func TestKeysAreForTheOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	mustSelfSign(t, dir, "localhost")
	for _, name := range []string{"ca.key", "ca.pem", "server.pem"} {
		info := must.Have(os.Stat(filepath.Join(dir, name)))(t)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}

func TestAuthorityWithoutItsKeyIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	mustSelfSign(t, dir, "localhost")
	must.Succeed(t, os.Remove(filepath.Join(dir, "ca.key")))
	_, err := SelfSigned(dir, []string{"localhost"}, quiet())
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "ca.pem") {
		t.Errorf("error %v; want one that names the files", err)
	}
}

func TestGivenFilesAreReadAnewWhenTheyChange(t *testing.T) {
	one, two, dir := t.TempDir(), t.TempDir(), t.TempDir()
	mustSelfSign(t, one, "one.example")
	mustSelfSign(t, two, "two.example")
	file := filepath.Join(dir, "server.pem")
	put := func(content []byte, modified time.Time) {
		t.Helper()
		must.Succeed(t, os.WriteFile(file, content, 0o600))
		must.Succeed(t, os.Chtimes(file, modified, modified))
	}
	read := func(dir string) []byte {
		t.Helper()
		content := must.Have(os.ReadFile(filepath.Join(dir, "server.pem")))(t)
		return content
	}
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	put(read(one), noon)
	served := must.Have(Files(file, file, quiet()))(t)
	put([]byte("half a file"), noon.Add(time.Hour))
	if got := leaf(t, served).DNSNames; !slices.Equal(got, []string{"one.example"}) {
		t.Errorf("after a broken write, served is %v", got)
	}
	put(read(two), noon.Add(2*time.Hour))
	if got := leaf(t, served).DNSNames; !slices.Equal(got, []string{"two.example"}) {
		t.Errorf("after a change, served is %v", got)
	}
	if _, err := Files(file+".none", file, quiet()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestHostsOfListenAddresses(t *testing.T) {
	for listen, want := range map[string][]string{
		"127.0.0.1:10000": {"localhost", "127.0.0.1", "::1"},
		"localhost:0":     {"localhost", "127.0.0.1", "::1"},
		"10.1.2.3:1":      {"localhost", "127.0.0.1", "::1", "10.1.2.3"},
		"box.example:1":   {"localhost", "127.0.0.1", "::1", "box.example"},
		"0.0.0.0:1":       append([]string{"localhost", "127.0.0.1", "::1"}, machine()...),
		":1":              append([]string{"localhost", "127.0.0.1", "::1"}, machine()...),
	} {
		got, err := Hosts(listen)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Hosts(%q) = %v, %v; want %v", listen, got, err, want)
		}
	}
	if _, err := Hosts("127.0.0.1"); err == nil {
		t.Error("an address without a port is taken")
	}
}
