package simulate

import (
	"sync"
	"time"
)

const (
	// booting is how many devices ask for their first token at the same time. If a million did, the endpoint would tell
	// most of them to come again, and each waits with a client and goroutines of its own: the machine would do nothing
	// else, and requests would be answered when their devices have given up.
	booting = 256
	// bootTime is how long one of them keeps others waiting at most.
	bootTime = 30 * time.Second
)

// boots has devices that are switched on wait for others that have no token yet, in turn.
type boots struct {
	mu      sync.Mutex
	since   map[*life]time.Time // when those began that ask for their first token
	waiting []*life
}

// begin reports whether a device without a token may ask for one now. If not, end returns it later, once it may.
func (b *boots) begin(l *life, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, on := b.since[l]; on {
		return true
	}
	if len(b.since) < booting {
		b.since[l] = now
		return true
	}
	b.waiting = append(b.waiting, l)
	return false
}

// end notes that a device is done if it asked for its first token, and returns the next one that may, or nil. One that
// has waited for too long is taken for done.
func (b *boots) end(l *life, done bool, now time.Time) (next *life) {
	b.mu.Lock()
	defer b.mu.Unlock()
	began, on := b.since[l]
	if !on || !done && now.Sub(began) < bootTime {
		return nil
	}
	delete(b.since, l)
	if len(b.waiting) > 0 {
		next, b.waiting = b.waiting[0], b.waiting[1:]
		b.since[next] = now
	}
	return next
}
