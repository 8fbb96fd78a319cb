package model

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

// A cache shares reads: requests for the same key wait for one read, and its result is kept for a while.
type cache[V any] struct {
	kept    *lru.Cache[string, entry[V]]
	flights *singleflight.Group
}

type entry[V any] struct {
	value V
	read  Read
	until time.Time
}

// A Read describes how data was read.
type Read struct {
	At         time.Time // when storage was asked
	Operations int       // storage operations that it took
	Cached     bool      // it was read for another request
}

func (r Read) And(o Read) Read {
	if r.At.IsZero() || !o.At.IsZero() && o.At.Before(r.At) {
		r.At = o.At
	}
	return Read{At: r.At, Operations: r.Operations + o.Operations, Cached: r.Cached && o.Cached}
}

const (
	maxEntries  = 512 // of a cache
	readTimeout = 15 * time.Second
	partialAge  = 3 * time.Second // of an answer that leaves out an account
)

func newCache[V any]() cache[V] {
	kept, _ := lru.New[string, entry[V]](maxEntries) // fails only for a size below 1
	return cache[V]{kept, &singleflight.Group{}}
}

// lately is get for what may be twice as old: a value older than age is returned while it is read again for the next
// request.
func (c cache[V]) lately(
	ctx context.Context, key string, age time.Duration, read func(context.Context) (V, error),
) (V, Read, error) {
	e, ok := c.kept.Get(key)
	if now := time.Now(); !ok || now.Before(e.until) || now.After(e.until.Add(age)) {
		return c.get(ctx, key, age, read)
	}
	go func() { _, _, _ = c.get(context.WithoutCancel(ctx), key, age, read) }() // the next request has its error
	e.read.Cached = true
	return e.value, e.read, nil
}

// get returns the value of a key, which it reads when the kept one is older than age. Errors are not kept.
func (c cache[V]) get(
	ctx context.Context, key string, age time.Duration, read func(context.Context) (V, error),
) (V, Read, error) {
	if e, ok := c.kept.Get(key); ok && time.Now().Before(e.until) {
		e.read.Cached = true
		return e.value, e.read, nil
	}
	mine := false
	v, err, _ := c.flights.Do(key, func() (any, error) {
		mine = true
		// Other requests wait for this read, so it must not end with this request.
		reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		reading, meter := metered(reading)
		reading, partial := partly(reading)
		e := entry[V]{read: Read{At: time.Now()}}
		var err error
		e.value, err = read(reading)
		e.read.Operations = int(meter.Load())
		if err == nil {
			if partial.Load() {
				age = min(age, partialAge)
			}
			e.until = time.Now().Add(age)
			c.kept.Add(key, e)
		}
		return e, err
	})
	e := v.(entry[V])
	e.read.Cached = !mine
	return e.value, e.read, err
}
