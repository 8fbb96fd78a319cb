package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
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

func TestCutAnswerWithoutABodyIsAnError(t *testing.T) {
	tr := &Transport{Next: handler{&counting{}}, Plan: Script{0: Cut}}
	if _, err := tr.Do(post(t, "")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
}

func TestScriptCountsOperationsOnly(t *testing.T) {
	tr := &Transport{Next: handler{&counting{}}, Plan: Script{1: ServerBusy},
		Only: func(r *http.Request) bool { return r.Header.Get("Count") != "" }}
	statuses := ""
	for _, counts := range []string{"", "yes", "", "yes", "yes"} {
		req := post(t, "")
		req.Header.Set("Count", counts)
		resp := must.Have(tr.Do(req))(t)
		statuses += fmt.Sprint(" ", resp.StatusCode)
	}
	if statuses != " 200 200 200 503 200" {
		t.Errorf("statuses%s", statuses)
	}
}

func TestInjectionsAreLoggedWithoutSecrets(t *testing.T) {
	tr := &Transport{Next: handler{&counting{}}, Plan: Script{1: Twice}}
	for range 3 {
		must.Have(tr.Do(post(t, "")))(t)
	}
	if got := fmt.Sprint(tr.Injected()); got != "[#1 POST /acct/t: twice]" {
		t.Errorf("injected %s", got)
	}
}

func TestLateAnswersHonourTheContext(t *testing.T) {
	for fault, done := range map[Fault]int32{Late: 1, Stalled: 0} {
		synctest.Test(t, func(t *testing.T) {
			var server counting
			tr := &Transport{Next: handler{&server}, Plan: Script{0: fault, 1: fault}, Delay: time.Minute}
			start := time.Now()
			if _, err := tr.Do(post(t, "x")); err != nil || time.Since(start) != time.Minute {
				t.Errorf("%s: answered after %v, %v; want a minute", fault, time.Since(start), err)
			}

			server.done.Store(0)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start = time.Now()
			_, err := tr.Do(post(t, "x").WithContext(ctx))
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
				t.Errorf("%s: gave up after %v, %v; want a second", fault, time.Since(start), err)
			}
			if server.done.Load() != done {
				t.Errorf("%s: done %d times before giving up; want %d", fault, server.done.Load(), done)
			}
		})
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

func TestRandomFaultsEnd(t *testing.T) {
	r := Random{Rates: map[Fault]float64{ServerBusy: 1}, First: 2}
	if r.Fault(1) != ServerBusy || r.Fault(2) != None {
		t.Errorf("the second of two operations with faults has %q, the third %q", r.Fault(1), r.Fault(2))
	}
}

func TestConcurrentOperationsAreCountedOnce(t *testing.T) {
	var server counting
	tr := &Transport{Next: handler{&server}, Plan: Random{Seed: 1, Rates: map[Fault]float64{ServerBusy: 0.5}}}
	const n = 400
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range n / 8 {
				if _, err := tr.Do(post(t, "x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	want := 0
	for i := range n {
		if tr.Plan.Fault(i) == ServerBusy {
			want++
		}
	}
	if got := len(tr.Injected()); got != want || int(server.done.Load()) != n-want {
		t.Errorf("%d refused, %d done; want %d, %d", got, server.done.Load(), want, n-want)
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
