// Package faults injects the faults of real storage in tests: late and lost answers,
// requests that are done twice, empty pages, busy servers. A Transport injects them
// between a client and its service, a Handler around a server. A Plan says when.
package faults

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// A Fault is a fault of storage or of the network.
type Fault string

const (
	None       Fault = ""
	Stalled    Fault = "stalled"     // the request is held back, and sent late or, if its context ends, never
	Late       Fault = "late"        // the request is done at once, and its answer held back
	AnswerLost Fault = "answer lost" // the request is done, and the connection reset instead of an answer
	Twice      Fault = "twice"       // the request is done twice, and the second answer returned
	Cut        Fault = "cut"         // the request is done, and the connection closed within the answer's body

	ServerBusy   Fault = "server busy"    // 503 ServerBusy, and nothing is done
	TimedOut     Fault = "timed out"      // 500 OperationTimedOut, and nothing is done
	TimedOutDone Fault = "timed out done" // 500 OperationTimedOut, and yet the request is done
	EmptyPage    Fault = "empty page"     // no rows and a continuation token; only for queries of entities
)

// A Plan decides the fault of the nth operation, counted from 0. It must always return
// the same for n, also to concurrent callers.
type Plan interface {
	Fault(n int) Fault
}

// A Script lists the faults by operation.
type Script map[int]Fault

// Fault returns the fault of n, None if the script has none.
func (s Script) Fault(n int) Fault { return s[n] }

// Random draws faults from a seed, so that a run can be repeated: the fault of the nth
// operation depends only on n.
type Random struct {
	Seed  uint64
	Rates map[Fault]float64 // share of the operations with each fault; together at most 1
	First int               // only so many operations have faults; 0 is all of them
}

// Fault returns the fault drawn for n.
func (r Random) Fault(n int) Fault {
	if r.First > 0 && n >= r.First {
		return None
	}
	draw := rand.New(rand.NewPCG(r.Seed, uint64(n))).Float64()
	for _, f := range slices.Sorted(maps.Keys(r.Rates)) {
		if draw -= r.Rates[f]; draw < 0 {
			return f
		}
	}
	return None
}

// Later has storage say that it is so much later. What it writes into rows stays as it is.
func Later(by time.Duration) Func {
	return func(r *http.Request) (*http.Response, error) {
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		at, err := http.ParseTime(answer.Header.Get("Date"))
		answer.Header.Set("Date", at.Add(by).Format(http.TimeFormat))
		return answer, err
	}
}

// A Func is a transport that a function makes.
type Func func(*http.Request) (*http.Response, error)

// Do is RoundTrip, as policy.Transporter has it.
func (f Func) Do(r *http.Request) (*http.Response, error) { return f(r) }

// RoundTrip calls the function.
func (f Func) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A Gate is a transport that stops at one operation.
type Gate struct {
	At   int
	Stop func(send func() (*http.Response, error)) (*http.Response, error)
	N    atomic.Int32
}

// Do sends a request, or stops.
func (g *Gate) Do(r *http.Request) (*http.Response, error) {
	send := func() (*http.Response, error) { return http.DefaultClient.Do(r) }
	if int(g.N.Add(1))-1 == g.At {
		return g.Stop(send)
	}
	return send()
}
