package model

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A cache has what was read lately, so that those who ask for the same within its
// age share one read; who asks while one is under way waits for it. The zero cache
// is ready.
type cache[V any] struct {
	mu      sync.Mutex
	entries map[string]*entry[V]
}

type entry[V any] struct {
	done  chan struct{} // closed when the rest is there
	until time.Time
	value V
	read  Read
	err   error
}

// A Read is what it took to know something.
type Read struct {
	At         time.Time // when storage was asked
	Operations int       // that it took
	Cached     bool      // for somebody else, a moment ago
}

// And is what it took to know two things.
func (r Read) And(o Read) Read {
	if r.At.IsZero() || !o.At.IsZero() && o.At.Before(r.At) {
		r.At = o.At
	}
	return Read{At: r.At, Operations: r.Operations + o.Operations, Cached: r.Cached && o.Cached}
}

const (
	mostEntries = 512              // in a cache; then those that are too old go, and if there are none, all
	readTimeout = 15 * time.Second // of one read
)

var errBroken = errors.New("the read was broken off")

// get is the value of a key, read anew where what is there is older than age.
func (c *cache[V]) get(ctx context.Context, key string, age time.Duration, read func(context.Context) (V, error)) (V, Read, error) {
	c.mu.Lock()
	e := c.entries[key]
	if e != nil && (e.until.IsZero() || time.Now().Before(e.until)) {
		c.mu.Unlock()
		select {
		case <-e.done:
			was := e.read
			was.Cached = true
			return e.value, was, e.err
		case <-ctx.Done():
			var none V
			return none, Read{}, ctx.Err()
		}
	}
	e = &entry[V]{done: make(chan struct{}), err: errBroken, read: Read{At: time.Now()}}
	c.make(key, e)
	c.mu.Unlock()

	// Others wait for the same, so that it must not end with this request.
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	reading, meter := metered(reading)
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if e.until = time.Now(); e.err == nil { // or who comes now tries again
			e.until = e.until.Add(age)
		}
		close(e.done)
	}()
	value, err := read(reading)
	e.value, e.err, e.read.Operations = value, err, meter.operations()
	return e.value, e.read, e.err
}

// make puts an entry into the map, and others out of it that are too old when
// there are many.
func (c *cache[V]) make(key string, e *entry[V]) {
	if c.entries == nil {
		c.entries = map[string]*entry[V]{}
	}
	if len(c.entries) >= mostEntries {
		now := time.Now()
		for k, old := range c.entries {
			if !old.until.IsZero() && now.After(old.until) {
				delete(c.entries, k)
			}
		}
		if len(c.entries) >= mostEntries {
			clear(c.entries) // those under way have their waiters already
		}
	}
	c.entries[key] = e
}
