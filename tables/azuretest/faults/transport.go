package faults

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A Transport passes requests to another transport and injects the faults of its plan.
// It is an http.RoundTripper and, for the SDKs' ClientOptions, a policy.Transporter.
// It is safe for concurrent use; the order of concurrent operations is undefined.
type Transport struct {
	Next  http.RoundTripper        // zero: http.DefaultTransport
	Plan  Plan                     // zero: no faults
	Only  func(*http.Request) bool // requests that count as operations; zero: all
	Delay time.Duration            // of Stalled and Late; zero: one second

	mu       sync.Mutex
	next     int // operation
	injected []Injection
}

// An Injection is an injected fault.
type Injection struct {
	N         int // the operation, counted from 0
	Fault     Fault
	Operation string // method and path; never the query, which may hold a signature
}

func (i Injection) String() string { return fmt.Sprintf("#%d %s: %s", i.N, i.Operation, i.Fault) }

// Injected returns the faults so far, by operation. A fault that does not apply to its
// request is not injected.
func (t *Transport) Injected() []Injection {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(slices.Values(t.injected), func(a, b Injection) int { return cmp.Compare(a.N, b.N) })
}

// Do is RoundTrip, as policy.Transporter has it.
func (t *Transport) Do(req *http.Request) (*http.Response, error) { return t.RoundTrip(req) }

// RoundTrip sends a request, or injects a fault.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	fault := t.begin(req)
	req = withoutOurToken(req)
	switch fault {
	case Stalled:
		if err := t.wait(req.Context()); err != nil {
			return nil, abandoned(req, err)
		}
		return t.send(req)
	case Late:
		return t.late(req)
	case AnswerLost:
		return t.instead(req, nil, fmt.Errorf("answer lost: %w", syscall.ECONNRESET))
	case Twice:
		return t.twice(req)
	case Cut:
		return t.cut(req)
	case ServerBusy:
		return busy(req), abandoned(req, nil)
	case TimedOut:
		return timedOut(req), abandoned(req, nil)
	case TimedOutDone:
		return t.instead(req, timedOut(req), nil)
	case EmptyPage:
		return emptyPage(req), abandoned(req, nil)
	}
	return t.send(req)
}

// begin counts the operation and returns its fault.
func (t *Transport) begin(req *http.Request) Fault {
	if t.Plan == nil || t.Only != nil && !t.Only(req) {
		return None
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.next
	t.next++
	fault := t.Plan.Fault(n)
	if fault == EmptyPage && !queriesEntities(req) {
		fault = None
	}
	if fault != None {
		t.injected = append(t.injected, Injection{n, fault, req.Method + " " + req.URL.Path})
	}
	return fault
}

func (t *Transport) send(req *http.Request) (*http.Response, error) {
	if t.Next == nil {
		return http.DefaultTransport.RoundTrip(req)
	}
	return t.Next.RoundTrip(req)
}

func (t *Transport) wait(ctx context.Context) error {
	timer := time.NewTimer(cmp.Or(t.Delay, time.Second))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *Transport) late(req *http.Request) (*http.Response, error) {
	resp, err := t.send(req)
	if err != nil {
		return nil, err
	}
	if err := t.wait(req.Context()); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// instead sends the request and returns another answer.
func (t *Transport) instead(req *http.Request, other *http.Response, lost error) (*http.Response, error) {
	resp, err := t.send(req)
	if err != nil {
		return nil, err
	}
	return other, cmp.Or(drain(resp), lost)
}

func (t *Transport) twice(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, abandoned(req, err)
		}
		req.Body.Close()
	}
	again := func() *http.Request {
		r := req.Clone(req.Context())
		if req.Body != nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		return r
	}
	if _, err := t.instead(again(), nil, nil); err != nil {
		return nil, err
	}
	return t.send(again())
}

func (t *Transport) cut(req *http.Request) (*http.Response, error) {
	resp, err := t.send(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || len(body) == 0 {
		return nil, cmp.Or(err, io.ErrUnexpectedEOF)
	}
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), broken{}))
	return resp, nil
}

// broken is a reader of a closed connection.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// abandoned closes the body of a request that is not sent, as a RoundTripper must.
func abandoned(req *http.Request, err error) error {
	if req.Body != nil {
		req.Body.Close()
	}
	return err
}

func drain(resp *http.Response) error {
	_, err := io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return err
}
