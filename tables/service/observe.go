package service

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A Try is one request of a call. Each retry is another Try, because it is billed.
type Try struct {
	Sent   int64 // bytes of the request's body
	Status int   // of the answer; 0 without one
}

type callKey[C any] struct{}

// Within returns a context for the requests of a call, which policies get with CallOf.
func Within[C any](ctx context.Context, call C) context.Context {
	return context.WithValue(ctx, callKey[C]{}, call)
}

// CallOf returns the call that a request belongs to.
func CallOf[C any](req *policy.Request) (call C, ok bool) {
	call, ok = req.Raw().Context().Value(callKey[C]{}).(C)
	return call, ok
}

// Observe is a client policy that reports every try of a call whose context is from
// Within.
type Observe[C any] func(ctx context.Context, call C, t Try)

// Do is policy.Policy.
func (o Observe[C]) Do(req *policy.Request) (*http.Response, error) {
	sent := max(req.Raw().ContentLength, 0)
	resp, err := req.Next()
	if call, ok := CallOf[C](req); ok {
		t := Try{Sent: sent}
		if resp != nil {
			t.Status = resp.StatusCode
		}
		o(req.Raw().Context(), call, t)
	}
	return resp, err
}

// Counts counts operations by kind. The zero value is ready for use, and safe for
// concurrent use.
type Counts[K ~uint8] struct {
	counts [maxKinds]atomic.Int64
}

const maxKinds = 32

// Add counts one operation.
func (c *Counts[K]) Add(k K) { c.counts[k].Add(1) }

// Map returns the counts of the kinds that have occurred.
func (c *Counts[K]) Map() map[K]int64 {
	counts := map[K]int64{}
	for k := range c.counts {
		if n := c.counts[k].Load(); n > 0 {
			counts[K(k)] = n
		}
	}
	return counts
}
