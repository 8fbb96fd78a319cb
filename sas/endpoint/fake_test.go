package endpoint

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

const (
	rightProof = "SharedAccessSignature " +
		"sr=furrow%2Fregistrations%2Fpump-7&sig=c2lnbmF0dXJlLW9mLXRoZS1kZXZpY2U%3D&se=2000000000"
	wrongProof = "SharedAccessSignature sr=furrow%2Fregistrations%2Fpump-7&sig=Z3Vlc3NlZC1ieS1hLXN0cmFuZ2Vy&se=2000000000"
	secretSAS  = "sv=2019-02-02&tn=readings&sig=c2VjcmV0LW9mLXRoZS10b2tlbg%3D%3D"
)

// secrets must not appear in any log.
var secrets = []string{"c2lnbmF0dXJlLW9mLXRoZS1kZXZpY2U", "Z3Vlc3NlZC1ieS1hLXN0cmFuZ2Vy", "c2VjcmV0LW9mLXRoZS10b2tlbg"}

// earliest is the oldest row key that the tokens of a fakeIssuer admit.
const earliest = tables.Ticks(639_302_656_000_000_000)

// A fakeIssuer issues a token to every device with the right proof.
type fakeIssuer struct {
	authenticate error                       // for every right proof
	issue        func(context.Context) error // nil: succeeds at once
	rate         int                         // of the enrollment
	rung         *atomic.Int32               // how often devices rang; may be nil
	late         *atomic.Int64               // what the last of them said, with rung
}

func (f fakeIssuer) Authenticate(_ context.Context, _ schema.DeviceID, header string) (schema.Enrollment, error) {
	if header != rightProof {
		return schema.Enrollment{}, sas.ErrProofWrong
	}
	return schema.Enrollment{ID: "furrow", Rate: f.rate}, f.authenticate
}

func (f fakeIssuer) AuthenticateCertificate(
	_ context.Context, device schema.DeviceID, chain []*x509.Certificate,
) (schema.Enrollment, error) {
	if chain[0].Subject.CommonName != string(device) {
		return schema.Enrollment{}, sas.ErrCertificateDevice
	}
	return schema.Enrollment{ID: "furrow", Rate: f.rate}, f.authenticate
}

func (f fakeIssuer) Ring(_ context.Context, _ schema.DeviceID, late tables.Ticks) error {
	if f.rung != nil {
		f.rung.Add(1)
		f.late.Store(int64(late))
	}
	return nil
}

func (f fakeIssuer) Issue(ctx context.Context, device schema.DeviceID, _ schema.Enrollment) (sas.Answer, error) {
	if f.issue != nil {
		if err := f.issue(ctx); err != nil {
			return sas.Answer{}, err
		}
	}
	return sas.Answer{Device: device, URL: "https://acct.table.core.windows.net/readings", SAS: secretSAS,
		PartitionKey:   device,
		EarliestRowKey: earliest, LatestRowKey: tables.TicksOf(time.Now().Add(time.Hour)),
		RowKeyFormat: sas.RowKeyFormat, Expires: time.Now().Add(time.Hour), ServerTime: time.Now(), SendEvery: 60,
		Batch: 100}, nil
}

// A logged is a test's log at debug level. It fails a test that logs a secret.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func newLog(t testing.TB) (*slog.Logger, *logged) {
	l := &logged{}
	t.Cleanup(func() {
		for _, secret := range secrets {
			if strings.Contains(l.String(), secret) {
				t.Errorf("the log has the secret %s:\n%s", secret, l.String())
			}
		}
	})
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})), l
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func mustNew(t testing.TB, c Config) (*Handler, *logged) {
	t.Helper()
	log, text := newLog(t)
	c.Log = log
	if c.Issuer == nil {
		c.Issuer = fakeIssuer{}
	}
	h := must.Have(New(c))(t)
	return h, text
}

func request(method, path, proof string, body io.Reader) *http.Request {
	r := httptest.NewRequest(method, "http://endpoint"+path, body)
	if proof != "" {
		r.Header.Set("Authorization", proof)
	}
	return r
}

// ask calls the handler without a network.
func ask(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func askToken(h http.Handler, device, proof string) *httptest.ResponseRecorder {
	return ask(h, request("POST", "/v1/devices/"+device+"/token", proof, nil))
}

// wantProblem checks everything that all error responses have in common.
func wantProblem(t *testing.T, w *http.Response, code Code) problem {
	t.Helper()
	body := must.Have(io.ReadAll(w.Body))(t)
	var p problem
	if err := json.Unmarshal(body, &p); err != nil {
		t.Fatalf("want %s, got status %d and no problem: %v", code, w.StatusCode, err)
	}
	if p.Code != code || p.Status != codes()[code] || p.Status != w.StatusCode {
		t.Errorf("want %s (%d), got status %d with %+v", code, codes()[code], w.StatusCode, p)
	}
	if p.Type != "about:blank" || p.Title != http.StatusText(p.Status) || p.Detail == "" ||
		time.Since(p.ServerTime).Abs() > time.Minute {
		t.Errorf("%s: the problem is %+v", code, p)
	}
	if id := w.Header.Get("X-Request-Id"); len(id) < 20 || p.RequestID != id {
		t.Errorf("%s: request id %q in the header, %q in the problem", code, id, p.RequestID)
	}
	if w.Header.Get("Content-Type") != "application/problem+json" || w.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: the header is %v", code, w.Header)
	}
	again := code == TooManyRequests || code == StorageBusy || code == NotReady
	if (p.RetryAfter > 0) != again || bytes.Contains(body, []byte("retryAfter")) != again ||
		(w.Header.Get("Retry-After") != "") != again {
		t.Errorf("%s: retryAfter is %d, Retry-After %q", code, p.RetryAfter, w.Header.Get("Retry-After"))
	}
	return p
}

// quiet discards the log: tests with a whole fleet would spend their time in it.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
