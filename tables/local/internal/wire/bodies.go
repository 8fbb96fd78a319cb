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

// Where there is no room for a body, the slowest one ends, unless it began a moment ago.
const (
	bodyBegins = 2 * time.Second
	bodyWaits  = time.Second // for the room that this gives; at most bodyPace, or a body that waits would become slow
)

// ErrBusy tells a client to try again in a second.
var ErrBusy = &Error{http.StatusServiceUnavailable, "ServerBusy",
	"The server is currently unable to receive requests. Please retry your request.", nil}

// Bodies counts the bytes of bodies in memory. The services of an account share one. A nil *Bodies has no bounds.
type Bodies struct {
	all, tokens, large *shares.Shares

	mu       sync.Mutex
	arriving map[*timedBody]held // those of tokens
}

// NewBodies returns a count of zero.
func NewBodies() *Bodies {
	return &Bodies{all: shares.New(maxBodies, maxBodies), tokens: shares.New(tokenBodies, ownBodies),
		large: shares.New(largeBodies, ownBodies), arriving: map[*timedBody]held{}}
}

// A hold is what a request holds of Bodies.
type hold struct {
	bodies *Bodies
	owners []string   // of a token, its tenant and its device; nil: it has the account key
	body   *timedBody // nil: it has none
	held
}

type held struct {
	bytes  int64
	large  int64 // of them
	tenant string
}

// ownersOf returns who shares the room of tokens: a device, and those whose IDs begin like its own, up to a colon, as
// the devices of a tenant do. Those of all IDs without a colon share, too, or each of them would be a tenant. A token
// for no device is one by itself.
func ownersOf(r *Request) []string {
	signature := r.Query.Get("sig")
	if signature == "" {
		return nil
	}
	device := r.Query.Get("spk")
	if device == "" || device != r.Query.Get("epk") {
		return []string{"token " + signature, "token " + signature}
	}
	tenant, _, is := strings.Cut(device, ":")
	if !is {
		tenant = ""
	}
	return []string{"tenant " + tenant, "device " + device}
}

// holdMore counts n more bytes, or returns ErrBusy and counts nothing.
func (h *hold) holdMore(ctx context.Context, n int64) error {
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
	if !b.room(waiting, h, b.large, large, func(is held) int64 { return is.large }) {
		return ErrBusy
	}
	if !b.room(waiting, h, b.tokens, n, func(is held) int64 { return is.bytes }) {
		b.large.Give(large, h.owners...)
		return ErrBusy
	}
	if !b.all.Take(n) {
		b.large.Give(large, h.owners...)
		b.tokens.Give(n, h.owners...)
		return ErrBusy
	}
	h.held = held{h.bytes + n, h.large + large, h.owners[0]}
	if h.body != nil {
		b.mu.Lock()
		b.arriving[h.body] = h.held
		b.mu.Unlock()
	}
	return nil
}

// room takes n of some shares for h. Where there is no room for anybody, or none for a device that has little because
// of others of its tenant, the slowest bodies end, of all or of the tenant.
func (b *Bodies) room(
	ctx context.Context, h *hold, shares *shares.Shares, n int64, of func(held) int64,
) bool {
	owners := h.owners
	if n == 0 || shares.Take(n, owners...) { // a small body needs none of the room for large ones
		return true
	}
	among := owners[0]
	if shares.Full(n) {
		among = ""
	} else if shares.Of(owners[1])+n > ownBodies {
		return false
	}
	return b.endSlowest(h, n, among, of, time.Now()) && shares.Wait(ctx, n, owners...)
}

// endSlowest ends bodies of a tenant, or of all if it is empty, the slowest first, until those that it ended have n
// bytes of some room for h, whose own body goes on. It reports whether there are enough.
func (b *Bodies) endSlowest(h *hold, n int64, tenant string, of func(held) int64, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	var slow []*timedBody
	for body, is := range b.arriving {
		if body != h.body && now.Sub(body.began) >= bodyBegins && !body.whole.Load() && !body.ended.Load() &&
			of(is) > 0 && (tenant == "" || is.tenant == tenant) {
			slow = append(slow, body)
		}
	}
	slices.SortFunc(slow, func(a, c *timedBody) int { return cmp.Compare(a.lately(0, now), c.lately(0, now)) })
	for _, body := range slow {
		if n <= 0 {
			break
		}
		if body.endIfSlow() {
			n -= of(b.arriving[body])
		}
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
	return r.hold.holdMore(r.Context(), n)
}
