package endpoint

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestDeviceWithItsKeyGetsAToken(t *testing.T) {
	h, log := mustNew(t, Config{})
	w := askToken(h, "pump-7", rightProof)
	var a sas.Answer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != 200 || a.Device != "pump-7" ||
		a.SAS != secretSAS {
		t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
	}
	if strings.Contains(w.Body.String(), `\u0026`) {
		t.Errorf("a shell cannot take the token out of %s", w.Body)
	}
	if w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Cache-Control") != "no-store" ||
		w.Header().Get("X-Request-Id") == "" {
		t.Errorf("the header is %v", w.Header())
	}
	if text := log.String(); !strings.Contains(text, "token issued") ||
		!strings.Contains(text, w.Header().Get("X-Request-Id")) || !strings.Contains(text, "device=pump-7") {
		t.Errorf("the log is %s", text)
	}
}

// Every code is provoked by at least one request.
func TestEveryErrorHasItsCode(t *testing.T) {
	token := "/v1/devices/pump-7/token"
	failing := func(err error) Config {
		return Config{Issuer: fakeIssuer{issue: func(context.Context) error { return err }}}
	}
	strange := func(err error) Config { return Config{Issuer: fakeIssuer{authenticate: err}} }
	post := func(path, proof, body string) *http.Request {
		return request("POST", path, proof, strings.NewReader(body))
	}
	certified := func(device string) *http.Request {
		r := post(token, "", "")
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{Subject: pkix.Name{CommonName: device}}}}
		return r
	}
	seen := map[Code]bool{}
	for _, c := range []struct {
		want Code
		with Config
		ask  *http.Request
	}{
		{BadDeviceID, Config{}, post("/v1/devices/p%20p/token", rightProof, "")},
		{BadDeviceID, Config{}, post("/v1/devices//token", rightProof, "")},
		{BadDeviceID, Config{}, post("/v1/devices/a%2Fb/token", rightProof, "")},
		{BadDeviceID, Config{}, post("/v1/devices/"+strings.Repeat("x", 129)+"/token", rightProof, "")},
		{BadBody, Config{}, post(token, rightProof, "[]")},
		{BadBody, Config{}, post(token, rightProof, `{"a":`)},
		{BadBody, Config{}, post(token, rightProof, `{} {}`)},
		{BadBody, Config{}, request("POST", token, rightProof, iotest.ErrReader(errors.New("cut off")))},
		{ProofMissing, Config{}, post(token, "", "")},
		{ProofMalformed, strange(sas.ErrProof), post(token, rightProof, "")},
		{ProofExpired, strange(sas.ErrProofExpired), post(token, rightProof, "")},
		{ProofTooLong, strange(sas.ErrProofTooLong), post(token, rightProof, "")},
		{ProofWrong, Config{}, post(token, wrongProof, "")},
		{ProofWrong, strange(sas.ErrProofResource), post(token, rightProof, "")},
		{ProofWrong, strange(sas.ErrNoEnrollment), post(token, rightProof, "")},
		{CertificateWrong, Config{}, certified("pump-8")},
		{CertificateWrong, strange(sas.ErrCertificate), certified("pump-7")},
		{CertificateWrong, strange(fmt.Errorf("%w: %w", sas.ErrCertificateEnrollment, sas.ErrNoEnrollment)),
			certified("pump-7")},
		{CertificateExpired, strange(sas.ErrCertificateExpired), certified("pump-7")},
		{EnrollmentDisabled, strange(sas.ErrDisabled), certified("pump-7")},
		{Revoked, failing(sas.ErrRevoked), certified("pump-7")},
		{Revoked, failing(fmt.Errorf("pump-7: %w", sas.ErrRevoked)), post(token, rightProof, "")},
		{EnrollmentDisabled, strange(sas.ErrDisabled), post(token, rightProof, "")},
		{NotRegistered, failing(sas.ErrNotRegistered), post(token, rightProof, "")},
		{WrongEnrollment, failing(sas.ErrOtherEnrollment), post(token, rightProof, "")},
		{EnrollmentFull, failing(sas.ErrFull), post(token, rightProof, "")},
		{WrongPrefix, failing(sas.ErrPrefix), post(token, rightProof, "")},
		{WrongPrefix, failing(sas.ErrOtherPrefix), post(token, rightProof, "")},
		{NotFound, Config{}, post("/v1/devices/pump-7", rightProof, "")},
		{NotFound, Config{}, post("/", rightProof, "")},
		{NotFound, Config{}, post("/healthz/", rightProof, "")},
		{MethodNotAllowed, Config{}, request("GET", token, rightProof, nil)},
		{MethodNotAllowed, Config{}, post("/healthz", "", "")},
		{BodyTooLarge, Config{}, post(token, rightProof, `{"a":"`+strings.Repeat("x", maxBody)+`"}`)},
		{NotReady, failing(&sas.NotReadyError{After: 12 * time.Second}), post(token, rightProof, "")},
		{NotReady, Config{Ready: func(context.Context) error { return errors.New("no storage") }},
			request("GET", "/readyz", "", nil)},
		{StorageBusy, failing(tables.ErrBusy), post(token, rightProof, "")},
		{StorageBusy, failing(tables.ErrConflict), post(token, rightProof, "")},
		{StorageBusy, failing(context.DeadlineExceeded), post(token, rightProof, "")},
		{Internal, failing(errors.New("the fleet's table is called abc")), post(token, rightProof, "")},
		{Internal, failing(nilPanic{}), post(token, rightProof, "")},
	} {
		h, log := mustNew(t, c.with)
		p := wantProblem(t, ask(h, c.ask).Result(), c.want)
		seen[c.want] = true
		if text := log.String(); !strings.Contains(text, p.RequestID) || !strings.Contains(text, "code="+string(c.want)) &&
			c.want != Internal {
			t.Errorf("%s: the log is %s", c.want, text)
		}
		if strings.Contains(p.Detail, "abc") || strings.Contains(p.Detail, "no storage") {
			t.Errorf("%s reveals an internal name: %s", c.want, p.Detail)
		}
		if c.want == NotReady && p.RetryAfter != 12 && p.RetryAfter != 1 {
			t.Errorf("%+v", p)
		}
	}
	h, _ := mustNew(t, Config{})
	for range DeviceBurst {
		askToken(h, "pump-7", rightProof)
	}
	wantProblem(t, askToken(h, "pump-7", rightProof).Result(), TooManyRequests)
	for code := range codes() {
		if !seen[code] && code != TooManyRequests {
			t.Errorf("no request provokes %s", code)
		}
	}
}

// nilPanic panics whenever it is used.
type nilPanic struct{}

func (nilPanic) Error() string { panic("unreadable error") }
func (nilPanic) Is(error) bool { panic("incomparable error") }

func TestUnknownEnrollmentLooksLikeAWrongKey(t *testing.T) {
	var details []string
	for _, err := range []error{sas.ErrNoEnrollment, sas.ErrProofWrong} {
		h, _ := mustNew(t, Config{Issuer: fakeIssuer{authenticate: err}})
		details = append(details, wantProblem(t, askToken(h, "pump-7", rightProof).Result(), ProofWrong).Detail)
	}
	if details[0] != details[1] {
		t.Errorf("the responses differ: %q", details)
	}
}

func TestPanicIsAnsweredAndLogged(t *testing.T) {
	h, log := mustNew(t, Config{Issuer: fakeIssuer{issue: func(context.Context) error { panic("issuer bug") }}})
	p := wantProblem(t, askToken(h, "pump-7", rightProof).Result(), Internal)
	if text := log.String(); !strings.Contains(text, "issuer bug") || !strings.Contains(text, p.RequestID) ||
		!strings.Contains(text, "handler_test.go") {
		t.Errorf("the log is %s", text)
	}
	if h.storage.slots.Used() != 0 {
		t.Error("its slot is still in use")
	}
}

func TestBodyMayBeAnObjectWithUnknownMembers(t *testing.T) {
	h, _ := mustNew(t, Config{})
	for _, body := range []string{"", "{}", "null", ` {"firmware": {"version": [1, 2]}} `, `{"a":"` +
		strings.Repeat("x", maxBody-8) + `"}`} {
		if w := ask(h, request("POST", "/v1/devices/pump-7/token", rightProof, strings.NewReader(body))); w.Code != 200 {
			t.Errorf("a body of %d bytes: %s", len(body), w.Body)
		}
	}
}

// TestADeviceRings: only where it asks for that.
func TestADeviceRings(t *testing.T) {
	var rung atomic.Int32
	var late atomic.Int64
	h, _ := mustNew(t, Config{Issuer: fakeIssuer{rung: &rung, late: &late}})
	for _, body := range []string{"", "null", "{}", `{"ring": false}`, `{"ring": true}`} {
		if w := ask(h, request("POST", "/v1/devices/pump-7/token", rightProof, strings.NewReader(body))); w.Code != 200 {
			t.Errorf("%s: %s", body, w.Body)
		}
	}
	w := ask(h, request("POST", "/v1/devices/pump-7/token", rightProof, strings.NewReader(`{"ring": "now"}`)))
	wantProblem(t, w.Result(), BadBody)
	if rung.Load() != 1 || late.Load() != 0 {
		t.Errorf("the device rang %d times, with late rows from %d on", rung.Load(), late.Load())
	}
}

// TestADeviceNamesLateRows: as far as tokens admit them.
func TestADeviceNamesLateRows(t *testing.T) {
	var rung atomic.Int32
	var late atomic.Int64
	h, _ := mustNew(t, Config{Issuer: fakeIssuer{rung: &rung, late: &late}})
	for key, want := range map[string]tables.Ticks{
		(earliest + 7).String():                                 earliest + 7,
		(earliest - 7).String():                                 earliest,
		(earliest + 7).String() + "-boot.7":                     earliest + 7,
		tables.TicksOf(time.Now().Add(48 * time.Hour)).String(): 0,
	} {
		late.Store(-1)
		body := strings.NewReader(`{"late":"` + key + `"}`)
		w := ask(h, request("POST", "/v1/devices/pump-7/token", rightProof, body))
		if w.Code != http.StatusOK || late.Load() != int64(want) {
			t.Errorf("%s: %d, late from %d on, want %d", key, w.Code, late.Load(), want)
		}
	}
	for _, key := range []string{"yesterday", "639302656000000007", "0639302656000000007-a/b"} {
		w := ask(h, request("POST", "/v1/devices/pump-7/token", rightProof, strings.NewReader(`{"late":"`+key+`"}`)))
		wantProblem(t, w.Result(), BadBody)
	}
	w := ask(h, request("POST", "/v1/devices/pump-7/token", rightProof, strings.NewReader(`{"late":639302656000000007}`)))
	if says := w.Body.String(); !strings.Contains(says, "late is no text") {
		t.Errorf("of a number it says %s", says)
	}
	if rung.Load() != 4 {
		t.Errorf("the device rang %d times", rung.Load())
	}
}

func TestRequestIDIsOurOwnAndTheClientsIsClipped(t *testing.T) {
	h, log := mustNew(t, Config{})
	r := request("POST", "/v1/devices/pump-7/token", rightProof, nil)
	r.Header.Set("X-Request-Id", "theirs"+strings.Repeat("x", 1000))
	w := ask(h, r)
	if id := w.Header().Get("X-Request-Id"); id == "" || strings.Contains(id, "theirs") {
		t.Errorf("the id is %q", id)
	}
	if text := log.String(); !strings.Contains(text, "theirRequest=theirsx") || len(text) > 500 {
		t.Errorf("%d bytes are logged: %s", len(text), text)
	}
}

func TestReadinessIsCheckedOncePerSecondAndOutlivesTheRequest(t *testing.T) {
	asked := 0
	h, log := mustNew(t, Config{Ready: func(ctx context.Context) error {
		asked++
		if _, limited := ctx.Deadline(); !limited {
			t.Error("the check has no timeout")
		}
		if ctx.Err() != nil {
			t.Error("the check ends with the request")
		}
		return errors.New("no storage")
	}})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		wantProblem(t, ask(h, request("GET", "/readyz", "", nil).WithContext(gone)).Result(), NotReady)
	}
	if asked != 1 {
		t.Errorf("%d checks", asked)
	}
	if strings.Count(log.String(), "no storage") != 1 {
		t.Errorf("the log is %s", log)
	}
	if w := ask(h, request("HEAD", "/healthz", "", nil)); w.Code != 200 {
		t.Errorf("/healthz: %d", w.Code)
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector())
	other := prometheus.NewCounter(prometheus.CounterOpts{Name: "of_the_caller"})
	h, _ := mustNew(t, Config{Registry: registry, Collectors: []prometheus.Collector{other}, Limits: Limits{Rate: 1},
		Ready: func(context.Context) error { return nil }})
	askToken(h, "pump-7", rightProof)
	askToken(h, "pump-7", wrongProof)
	ask(h, request("GET", "/readyz", "", nil))
	if w := ask(h, request("GET", "/metrics", "", nil)); w.Code != http.StatusNotFound {
		t.Errorf("devices can read the metrics: %d", w.Code)
	}
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, request("GET", "/", "", nil))
	text := w.Body.String()
	for _, want := range []string{
		"furrow_sas_tokens_total 1", `furrow_sas_refusals_total{code="proof-wrong"} 1`,
		`furrow_sas_refusals_total{code="revoked"} 0`,
		"furrow_sas_token_seconds_count 2", "furrow_sas_storage_in_flight 0", "furrow_sas_storage_slots 256",
		"furrow_sas_allowance 1", "furrow_sas_retry_seconds 0", "furrow_sas_devices_remembered 1",
		"furrow_sas_requests_in_flight 0",
		"go_goroutines", "of_the_caller 0",
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestLogIsBoundedInAStorm of devices that are refused, and has an error of another one between them.
func TestLogIsBoundedInAStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var device atomic.Int64
		h, log := mustNew(t, Config{Issuer: ownKeys{}})
		broken, _ := mustNew(t, Config{Issuer: fakeIssuer{issue: func(context.Context) error { panic("issuer bug") }}})
		broken.log = h.log
		for range 1000 {
			askToken(h, "pump-7", rightProof)
			askToken(h, fmt.Sprint("pump-", device.Add(1)), rightProof)
		}
		askToken(broken, "pump-0", rightProof)
		if n := strings.Count(log.String(), "device=pump-7 "); n > 1 {
			t.Errorf("%d lines about one device", n)
		}
		if n := strings.Count(log.String(), "level=INFO"); n < 50 || n > 110 {
			t.Errorf("%d lines at info", n)
		}
		if !strings.Contains(log.String(), "issuer bug") {
			t.Error("the error is not logged")
		}
		time.Sleep(lineTime)
		askToken(h, "pump-7", rightProof)
		if text := log.String(); !strings.Contains(text, "leftOut=") {
			t.Error("the log does not say how many lines were left out")
		}
	})
}

// An ownKeys is an issuer of disabled enrollments: of each device, one whose name is what its ID begins with, up to a
// colon.
type ownKeys struct{ fakeIssuer }

func (ownKeys) Authenticate(_ context.Context, device schema.DeviceID, _ string) (schema.Enrollment, error) {
	key, _, _ := strings.Cut(string(device), ":")
	return schema.Enrollment{ID: schema.EnrollmentID(key)}, sas.ErrDisabled
}

// TestNoKeyTakesTheLinesOfOthers has somebody with a key invent devices for ten minutes, and others be refused once.
func TestNoKeyTakesTheLinesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, log := mustNew(t, Config{Issuer: ownKeys{}})
		for i := range 6000 {
			askToken(h, fmt.Sprint("fabrikam:", i), rightProof)
			if i%100 == 99 {
				askToken(h, fmt.Sprintf("honest%d:p1", i/100%4), rightProof)
			}
			time.Sleep(100 * time.Millisecond)
		}
		lines := func(device string) (n int) {
			for line := range strings.Lines(log.String()) {
				if strings.Contains(line, "level=INFO") && strings.Contains(line, "device="+device) {
					n++
				}
			}
			return n
		}
		if n := lines("honest"); n < 30 { // of four, which ask every 40 s and have one in a minute
			t.Errorf("%d lines about honest devices", n)
		}
		if n := lines("fabrikam"); n > 240 {
			t.Errorf("%d lines about devices of one key", n)
		}
	})
}

func FuzzPathsAndIDs(f *testing.F) {
	for _, path := range []string{"/v1/devices/pump-7/token", "/v1/devices/../token", "/v1/devices/%2e%2e/token",
		"//healthz", "/v1/devices//token/token", "/metrics", "*"} {
		f.Add("POST", path)
		f.Add("GET", path)
	}
	log, _ := newLog(f)
	h := must.Have(New(Config{Issuer: fakeIssuer{}, Log: log, Limits: Limits{DeviceRate: 1_000_000, Rate: 1_000_000}}))(f)
	f.Fuzz(func(t *testing.T, method, path string) {
		r := request("POST", "/", rightProof, nil)
		r.Method, r.URL.Path = method, path
		w := ask(h, r)
		if w.Code == 200 && strings.HasSuffix(path, "/token") {
			id := strings.TrimSuffix(strings.TrimPrefix(path, "/v1/devices/"), "/token")
			if _, err := schema.ParseDeviceID(id); err != nil || method != "POST" {
				t.Errorf("%s %q gets a token: %v", method, path, err)
			}
		}
		if w.Code != 200 {
			var p problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || codes()[p.Code] != w.Code || p.Code == Internal {
				t.Errorf("%s %q: %d %s", method, path, w.Code, w.Body)
			}
		}
		if w.Code >= 300 && w.Code < 400 {
			t.Errorf("%q is redirected", path)
		}
	})
}
