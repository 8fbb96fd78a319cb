package setup

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"furrow/tables/azuretest/certificates"
	"furrow/tables/azuretest/must"
)

// TestAuthorityOfStorageIsReplacedWhileClientsRun renews the certificate of a server under another authority.
func TestAuthorityOfStorageIsReplacedWhileClientsRun(t *testing.T) {
	t.Parallel()
	one, two := certificates.New(t, "one"), certificates.New(t, "two")
	var mu sync.Mutex
	served := one.Sign(t, "storage", "", certificates.OfServer)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close") // so that each request verifies the certificate
	}))
	s.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		return &tls.Config{Certificates: []tls.Certificate{served}}, nil
	}}
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	certificates.Replace(t, file, certificates.PEM(one.Certificate))
	client := must.Have(FollowingTransport(file, quiet()))(t)
	t.Cleanup(client.CloseIdleConnections)
	ask := func() error {
		w, err := client.Get(s.URL)
		if err == nil {
			err = w.Body.Close()
		}
		return err
	}
	must.Succeed(t, ask())
	mu.Lock()
	served = two.Sign(t, "storage", "", certificates.OfServer)
	mu.Unlock()
	if err := ask(); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("a certificate of another authority: %v", err)
	}
	certificates.Replace(t, file, certificates.PEM(one.Certificate, two.Certificate))
	must.Succeed(t, ask())
	certificates.Replace(t, file, []byte("half a file"))
	must.Succeed(t, ask())
	certificates.Replace(t, file, certificates.PEM(one.Certificate))
	if err := ask(); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("a certificate of a removed authority: %v", err)
	}
	if _, err := FollowingTransport(file+".none", quiet()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
