package faults

import (
	"net/http"
	"sync/atomic"
)

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
