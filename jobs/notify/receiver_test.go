package notify_test

import (
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"furrow/jobs/notify"
)

// TestAddressesAreCheckedWhenTheyAreDialed refuses a name that leads to this machine.
func TestAddressesAreCheckedWhenTheyAreDialed(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	for url, want := range map[string]string{
		strings.Replace(rec.server.URL, "http://127.0.0.1", "https://localhost", 1): "is a private address",
		"https://[::ffff:127.0.0.1]:1/":                                             "is a private address",
		"https://10.0.0.1/":                                                         "is a private address",
		"https://100.64.1.1/":                                                       "is a private address",
		"https://169.254.169.254/latest/":                                           "go to the address 169.254.169.254",
		"https://[64:ff9b::a00:1]/":                                                 "never go to the address",
		"https://0.0.0.0/":                                                          "never go to the address",
		"https://[fe80::1]/":                                                        "never go to the address",
	} {
		target := f.hook(url)
		target.Kind.(*notify.Webhook).Private = false
		_, err := f.notifier(f.client, target).Test(t.Context(), "ops", "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", url, err, want)
		}
	}
	target := f.hook("https://169.254.169.254/")
	if _, err := f.notifier(f.client, target).Test(t.Context(), "ops", ""); err == nil ||
		!strings.Contains(err.Error(), "never") {
		t.Errorf("with private: true: %v", err)
	}
	if rec.tried > 0 {
		t.Error("a request has arrived")
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	server := httptest.NewServer(http.RedirectHandler(rec.server.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	_, err := f.notifier(f.client, f.hook(server.URL)).Test(t.Context(), "ops", "")
	if err == nil || !strings.Contains(err.Error(), "redirects are not followed") || rec.tried > 0 {
		t.Errorf("%v, %d followed", err, rec.tried)
	}
}

// TestEndlessAnswerIsCutOff sends gigabytes.
func TestEndlessAnswerIsCutOff(t *testing.T) {
	f, sent := newFixture(t), 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		for range 1 << 20 {
			n, err := w.Write(make([]byte, 1<<10))
			if sent += n; err != nil {
				return
			}
		}
	}))
	_, err := f.notifier(f.client, f.hook(server.URL)).Test(t.Context(), "ops", "")
	server.Close() // waits for the handler
	if err == nil || sent > 100<<20 {
		t.Errorf("%v after %d bytes", err, sent)
	}
}

// TestAcceptedIsAccepted has a receiver whose answer to a message it accepts breaks off.
func TestAcceptedIsAccepted(t *testing.T) {
	f := newFixture(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte("tha"))
	}))
	defer server.Close()
	if _, err := f.notifier(f.client, f.hook(server.URL)).Test(t.Context(), "ops", ""); err != nil {
		t.Error(err)
	}
}

// TestReceiverOfAnAuthorityThatIsTrusted has a certificate that no system trusts.
func TestReceiverOfAnAuthorityThatIsTrusted(t *testing.T) {
	f := newFixture(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	n := f.notifier(f.client, f.hook(server.URL))
	if _, err := n.Test(t.Context(), "ops", ""); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("nobody trusts it: %v", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	n.Roots = func() *x509.CertPool { return roots }
	if _, err := n.Test(t.Context(), "ops", ""); err != nil {
		t.Error(err)
	}
}

func TestMissingSecretIsAFailureThatSaysSo(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	target := f.hook(rec.server.URL)
	target.Kind.(*notify.Webhook).SecretFile = "/nowhere/secret"
	n := f.notifier(f.client, target)
	f.happen(n, "ops", f.transition("pump-1", 1))
	deliver(t, n, "ops")
	if s := f.state("ops"); !strings.Contains(s.Error, "/nowhere/secret") || s.Waiting != 1 {
		t.Errorf("state %+v", s)
	}
}
