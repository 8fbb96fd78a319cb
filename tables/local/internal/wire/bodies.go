package wire

import (
	"net/http"
	"sync"
)

// Bounds of the memory that request bodies take while they arrive and are processed, in bytes. Devices have tokens,
// and must leave room for what has the account key: workers.
const (
	maxBodies    = 64 << 20
	maxSASBodies = 48 << 20 // of all SAS together
	maxOneSAS    = 10 << 20 // of one SAS: two of the largest transactions
)

// ErrBusy tells a client to try again in a second.
var ErrBusy = &Error{http.StatusServiceUnavailable, "ServerBusy",
	"The server is currently unable to receive requests. Please retry your request.", nil}

// Bodies counts the bytes of bodies in memory. The services of an account share one. A nil *Bodies has no bounds.
type Bodies struct {
	mu       sync.Mutex
	all, sas int64
	bySAS    map[string]int64 // by signature
}

// NewBodies returns a count of zero.
func NewBodies() *Bodies { return &Bodies{bySAS: map[string]int64{}} }

// take counts n more bytes for a SAS, or for the account key if sas is empty. It returns ErrBusy, and counts
// nothing, if that is beyond a bound.
func (b *Bodies) take(sas string, n int64) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all+n > maxBodies || sas != "" && (b.sas+n > maxSASBodies || b.bySAS[sas]+n > maxOneSAS) {
		return ErrBusy
	}
	b.add(sas, n)
	return nil
}

func (b *Bodies) give(sas string, n int64) {
	if b == nil || n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(sas, -n)
}

func (b *Bodies) add(sas string, n int64) {
	b.all += n
	if sas == "" {
		return
	}
	b.sas += n
	if b.bySAS[sas] += n; b.bySAS[sas] == 0 {
		delete(b.bySAS, sas)
	}
}

// Hold counts n bytes of memory for the body until the request is answered, or returns an error.
func (r *Request) Hold(n int64) error {
	err := r.bodies.take(r.Query.Get("sig"), n)
	if err == nil {
		r.held += n
	}
	return err
}

// release ends what Hold began.
func (r *Request) release() { r.bodies.give(r.Query.Get("sig"), r.held) }
