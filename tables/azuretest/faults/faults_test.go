package faults

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

// A counting server echoes bodies and counts its requests.
type counting struct{ done atomic.Int32 }

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.done.Add(1)
	io.Copy(w, r.Body)
}

func post(t *testing.T, body string) *http.Request {
	t.Helper()
	req := must.Have(http.NewRequestWithContext(t.Context(), "POST", "http://tables.example/acct/t?sig=secret",
		strings.NewReader(body)))(t)
	return req
}

func TestEachFaultHasItsEffect(t *testing.T) {
	for fault, want := range map[Fault]struct {
		done   int32
		status int
		body   string
		err    error
	}{
		None:         {done: 1, status: 200, body: "hello"},
		Stalled:      {done: 1, status: 200, body: "hello"},
		Late:         {done: 1, status: 200, body: "hello"},
		AnswerLost:   {done: 1, err: syscall.ECONNRESET},
		Twice:        {done: 2, status: 200, body: "hello"},
		Cut:          {done: 1, status: 200, body: "he", err: io.ErrUnexpectedEOF},
		ServerBusy:   {done: 0, status: 503},
		TimedOut:     {done: 0, status: 500},
		TimedOutDone: {done: 1, status: 500},
		EmptyPage:    {done: 1, status: 200, body: "hello"}, // a POST has no pages
	} {
		var server counting
		tr := &Transport{Next: handler{&server}, Plan: Script{0: fault}, Delay: time.Nanosecond}
		resp, err := tr.Do(post(t, "hello"))
		status, body := 0, []byte(nil)
		if err == nil {
			status = resp.StatusCode
			body, err = io.ReadAll(resp.Body)
		}
		if !errors.Is(err, want.err) || server.done.Load() != want.done || status != want.status {
			t.Errorf("%s: done %d times, status %d, error %v; want %d, %d, %v", fault, server.done.Load(), status, err,
				want.done, want.status, want.err)
		}
		if want.body != "" && string(body) != want.body {
			t.Errorf("%s: body %q; want %q", fault, body, want.body)
		}
	}
}

func TestRandomDependsOnSeedAndIndexAlone(t *testing.T) {
	rates := map[Fault]float64{AnswerLost: 0.1, Twice: 0.2, ServerBusy: 0.3}
	count, differ := map[Fault]int{}, 0
	const n = 20_000
	for i := range n {
		f := Random{Seed: 7, Rates: rates}.Fault(i)
		if again := (Random{Seed: 7, Rates: maps.Clone(rates)}).Fault(i); again != f {
			t.Fatalf("operation %d: %q, then %q", i, f, again)
		}
		if f != (Random{Seed: 8, Rates: rates}).Fault(i) {
			differ++
		}
		count[f]++
	}
	for f, rate := range map[Fault]float64{AnswerLost: 0.1, Twice: 0.2, ServerBusy: 0.3, None: 0.4} {
		if got := float64(count[f]) / n; got < rate-0.02 || got > rate+0.02 {
			t.Errorf("%.3f of the operations have the fault %q; want %.1f", got, f, rate)
		}
	}
	if differ < n/4 {
		t.Errorf("two seeds differ in %d of %d operations only", differ, n)
	}
}

func TestHandlerBreaksRealConnections(t *testing.T) {
	var server counting
	tr := &Transport{Plan: Script{0: None, 1: AnswerLost, 2: Cut, 3: Twice, 4: ServerBusy}}
	s := httptest.NewServer(tr.Handler(&server))
	defer s.Close()
	for n, want := range []string{"200 hello <nil>", "EOF", "200 he unexpected EOF", "200 hello <nil>", "503"} {
		// Closed after each, so that the client does not repeat requests that fail on an old connection.
		req, _ := http.NewRequest("POST", s.URL, strings.NewReader("hello"))
		req.Close = true
		got := ""
		if resp, err := http.DefaultClient.Do(req); err != nil {
			got = err.Error()
		} else {
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			got = fmt.Sprint(resp.StatusCode, " ", string(body), " ", err)
		}
		if !strings.Contains(got, want) {
			t.Errorf("operation %d: %s; want %s", n, got, want)
		}
	}
	if server.done.Load() != 5 {
		t.Errorf("done %d times; want 5", server.done.Load())
	}
}
