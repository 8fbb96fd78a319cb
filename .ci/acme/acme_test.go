// Package acme has furrow get its certificate from Pebble, the small ACME authority of Let's Encrypt. It is a module of
// its own, so that furrow does not depend on Pebble.
//
//	cd .ci/acme && go test ./...
package acme

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/letsencrypt/challtestsrv"
	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
)

const host = "fleet.furrow.example"

// loopback is an address of this machine on which nothing else listens, because others use 127.0.0.1. Pebble must be
// told ports before their servers start, and so a port that is free here now is still free then.
const loopback = "127.53.80.1"

// freePort returns a port of loopback that nobody uses.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", loopback+":0")
	must(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newAuthority runs an authority that validates hosts on a port of this machine, and returns it with its root.
func newAuthority(t *testing.T, port int) (*httptest.Server, *x509.CertPool) {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	t.Setenv("PEBBLE_WFE_NONCEREJECT", "20") // percent, as the real one now and then
	quiet := log.New(io.Discard, "", 0)
	names := fmt.Sprintf(loopback+":%d", freePort(t))
	dns, err := challtestsrv.New(challtestsrv.Config{DNSAddrs: []string{names}, Log: quiet})
	must(t, err)
	dns.SetDefaultDNSIPv4(loopback)
	dns.SetDefaultDNSIPv6("")
	go dns.Run()
	t.Cleanup(dns.Shutdown)
	store := db.NewMemoryStore()
	issuer := ca.New(quiet, store, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {Description: "of the test"}})
	front := wfe.New(quiet, store, va.New(quiet, freePort(t), port, true, names, store), issuer,
		[]string{"pebble.letsencrypt.org"}, true, false, 1, 1)
	s := httptest.NewTLSServer(front.Handler())
	t.Cleanup(s.Close)
	trusted := filepath.Join(t.TempDir(), "authority.pem")
	must(t, os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	t.Setenv("SSL_CERT_FILE", trusted)
	w := httptest.NewRecorder()
	front.ManagementHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, wfe.RootCertPath+"0", nil))
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(w.Body.Bytes()) {
		t.Fatalf("no root: %d %s", w.Code, w.Body)
	}
	return s, roots
}

// furrow runs furrow up on a port until stop is called.
func furrow(t *testing.T, binary, dir, directory string, port int) (stop func()) {
	t.Helper()
	cmd := exec.Command(binary, "up", "--storage", dir, "--no-dashboard", "--no-worker", "--storage-port", "0",
		"--tls", "acme:"+host, "--listen", fmt.Sprintf(loopback+":%d", port))
	cmd.Env = append(os.Environ(), "FURROW_ACME_DIRECTORY="+directory)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	must(t, cmd.Start())
	stop = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	t.Cleanup(stop)
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", fmt.Sprintf(loopback+":%d", port)); err == nil {
			must(t, c.Close())
			return stop
		}
	}
	t.Fatal("furrow does not listen")
	return nil
}

// shown returns the certificate that a device sees, which it must trust.
func shown(t *testing.T, roots *x509.CertPool, port int) *x509.Certificate {
	t.Helper()
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, fmt.Sprintf(loopback+":%d", port))
		}}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("https://" + host + "/openapi.json")
	for until := time.Now().Add(time.Minute); err != nil && time.Now().Before(until); {
		// The first handshake waits for the certificate, and ends before it comes where the machine is busy.
		time.Sleep(100 * time.Millisecond)
		resp, err = client.Get("https://" + host + "/openapi.json")
	}
	must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	return resp.TLS.PeerCertificates[0]
}

func TestEndpointGetsItsCertificateFromAnAuthorityAndKeepsIt(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "furrow")
	build := exec.Command("go", "build", "-o", binary, "./cmd/furrow")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	port, dir := freePort(t), t.TempDir()
	must(t, os.Chmod(dir, 0o700))
	authority, roots := newAuthority(t, port)
	stop := furrow(t, binary, dir, authority.URL+wfe.DirectoryPath, port)
	first := shown(t, roots, port)
	if err := first.VerifyHostname(host); err != nil {
		t.Error(err)
	}
	if c, err := tls.Dial("tcp", fmt.Sprintf(loopback+":%d", port), &tls.Config{InsecureSkipVerify: true,
		ServerName: "other.furrow.example"}); err == nil {
		t.Errorf("another host is served with %v", c.ConnectionState().PeerCertificates[0].Subject)
	}
	stop()
	authority.Close()
	stop = furrow(t, binary, dir, authority.URL+wfe.DirectoryPath, port)
	defer stop()
	if again := shown(t, roots, port); again.SerialNumber.Cmp(first.SerialNumber) != 0 {
		t.Error("a restart needs another certificate")
	}
}
