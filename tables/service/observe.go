package service

import (
	"context"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A Try is one request of a call as it was answered; a retry is one more, as it is
// on the bill.
type Try struct {
	Sent   int64         // bytes of the request's body
	Status int           // of the answer; 0 when there was none
	Took   time.Duration // until the answer began
}

type callKey[C any] struct{}

// Within has the requests of a call, which policies then know by CallOf.
func Within[C any](ctx context.Context, call C) context.Context {
	return context.WithValue(ctx, callKey[C]{}, call)
}

// CallOf is the call that a request belongs to.
func CallOf[C any](req *policy.Request) (call C, ok bool) {
	call, ok = req.Raw().Context().Value(callKey[C]{}).(C)
	return call, ok
}

// An Observe is a policy of a client's that tells of every try of every call that is
// Within its context.
type Observe[C any] func(ctx context.Context, call C, t Try)

// Do is policy.Policy.
func (o Observe[C]) Do(req *policy.Request) (*http.Response, error) {
	start, sent := time.Now(), max(req.Raw().ContentLength, 0)
	resp, err := req.Next()
	if call, ok := CallOf[C](req); ok {
		t := Try{Sent: sent, Took: time.Since(start)}
		if resp != nil {
			t.Status = resp.StatusCode
		}
		o(req.Raw().Context(), call, t)
	}
	return resp, err
}
