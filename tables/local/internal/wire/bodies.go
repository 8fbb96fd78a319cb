package wire

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"furrow/tables/shares"
)

// Bounds of the memory that request bodies take while they arrive and are processed, in bytes. Devices have tokens,
// and must leave room for what has the account key: workers. Devices share theirs, and a quarter of it is for small
// bodies, which most devices send: a large one that arrives slowly cannot keep them out.
const (
	maxBodies   = 64 << 20
	tokenBodies = 48 << 20
	largeBodies = 36 << 20
	ownBodies   = 5 << 20  // that a device may always have: the largest transaction
	smallBody   = 64 << 10 // of one body
)

// Where there is no room for a body, the slowest large one ends, unless it began a moment ago.
const (
	bodyBegins = 2 * time.Second
	bodyWaits  = time.Second // for the room that this gives
)

// ErrBusy tells a client to try again in a second.
var ErrBusy = &Error{http.StatusServiceUnavailable, "ServerBusy",
	"The server is currently unable to receive requests. Please retry your request.", nil}

// Bodies counts the bytes of bodies in memory. The services of an account share one. A nil *Bodies has no bounds.
type Bodies struct {
	all, tokens, large *shares.Shares

	mu       sync.Mutex
	arriving map[*timedBody]int64 // large ones of tokens, and their bytes in memory
}

// NewBodies returns a count of zero.
func NewBodies() *Bodies {
	return &Bodies{all: shares.New(maxBodies, maxBodies), tokens: shares.New(tokenBodies, ownBodies),
		large: shares.New(largeBodies, ownBodies), arriving: map[*timedBody]int64{}}
}

// A hold is what a request holds of Bodies.
type hold struct {
	bodies *Bodies
	owners []string   // of a token; nil: it has the account key
	body   *timedBody // nil: it has none
	bytes  int64
	large  int64 // of them
}

// ownersOf returns who shares the room of tokens: a device, and those whose IDs begin like its own, up to a colon, as
// the devices of a tenant do. A token for no device is one by itself.
func ownersOf(r *Request) []string {
	signature := r.Query.Get("sig")
	if signature == "" {
		return nil
	}
	device := r.Query.Get("spk")
	if device == "" || device != r.Query.Get("epk") {
		return []string{"token " + signature, "token " + signature}
	}
	tenant, _, _ := strings.Cut(device, ":")
	return []string{"tenant " + tenant, "device " + device}
}

// take counts n more bytes, or returns ErrBusy and counts nothing.
func (h *hold) take(ctx context.Context, n int64) error {
	b := h.bodies
	if b == nil {
		return nil
	}
	if h.owners == nil {
		if !b.all.Take(n) {
			return ErrBusy
		}
		h.bytes += n
		return nil
	}
	large := int64(0)
	if h.bytes+n > smallBody {
		large = h.bytes + n - h.large
	}
	waiting, cancel := context.WithTimeout(ctx, bodyWaits)
	defer cancel()
	if !b.room(waiting, b.large, large, h.owners) {
		return ErrBusy
	}
	if !b.room(waiting, b.tokens, n, h.owners) {
		b.large.Give(large, h.owners...)
		return ErrBusy
	}
	if !b.all.Take(n) {
		b.large.Give(large, h.owners...)
		b.tokens.Give(n, h.owners...)
		return ErrBusy
	}
	if h.bytes, h.large = h.bytes+n, h.large+large; h.large > 0 && h.body != nil {
		b.mu.Lock()
		b.arriving[h.body] = h.bytes
		b.mu.Unlock()
	}
	return nil
}

// room takes n of some shares, and ends the slowest large bodies where there is no room.
func (b *Bodies) room(ctx context.Context, of *shares.Shares, n int64, owners []string) bool {
	if of.Take(n, owners...) {
		return true
	}
	return of.Full(n) && b.endSlowest(n, time.Now()) && of.Wait(ctx, n, owners...)
}

// endSlowest ends large bodies, the slowest first, until those that it ended have n bytes in memory. It reports
// whether there are enough.
func (b *Bodies) endSlowest(n int64, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	var slow []*timedBody
	for body := range b.arriving {
		if now.Sub(body.began) >= bodyBegins && !body.whole.Load() && !body.ended.Load() {
			slow = append(slow, body)
		}
	}
	slices.SortFunc(slow, func(a, c *timedBody) int { return cmp.Compare(a.rate(now), c.rate(now)) })
	for _, body := range slow {
		if n <= 0 {
			break
		}
		body.end()
		n -= b.arriving[body]
	}
	return n <= 0
}

// give ends what take began.
func (h *hold) give() {
	if h.bodies == nil {
		return
	}
	h.bodies.all.Give(h.bytes)
	if h.owners == nil {
		return
	}
	h.bodies.tokens.Give(h.bytes, h.owners...)
	h.bodies.large.Give(h.large, h.owners...)
	h.bodies.mu.Lock()
	delete(h.bodies.arriving, h.body)
	h.bodies.mu.Unlock()
}

// Hold counts n bytes of memory for the body until the request is answered, or returns an error.
func (r *Request) Hold(n int64) error {
	if r.hold.bodies != nil && r.hold.owners == nil {
		r.hold.owners = ownersOf(r)
	}
	return r.hold.take(r.Context(), n)
}
