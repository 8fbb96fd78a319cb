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
	limit   time.Duration // of one read
}

type entry[V any] struct {
	value      V
	at         time.Time // when storage was asked
	operations int
	partial    bool // it leaves out an account
	until      time.Time
}

// tell adds to a request how the value was read.
func (e entry[V]) tell(ctx context.Context, cached bool) {
	ReadOf(ctx).add(e.at, e.operations, cached)
	if e.partial {
		leave(ctx)
	}
}

const (
	maxEntries  = 512 // of a cache
	readTimeout = 15 * time.Second
	partialAge  = 3 * time.Second // of an answer that leaves out an account
)

func newCache[V any](limit time.Duration) cache[V] {
	kept, _ := lru.New[string, entry[V]](maxEntries) // fails only for a size below 1
	return cache[V]{kept, &singleflight.Group{}, limit}
}

// lately is get for what may be twice as old: a value older than age is returned while it is read again for the next
// request.
func (c cache[V]) lately(
	ctx context.Context, key string, age time.Duration, read func(context.Context) (V, error),
) (V, error) {
	e, ok := c.kept.Get(key)
	if now := time.Now(); !ok || now.Before(e.until) || now.After(e.until.Add(age)) {
		return c.get(ctx, key, age, read)
	}
	again, _ := Reading(context.WithoutCancel(ctx))
	go func() { _, _ = c.get(again, key, age, read) }() // the next request has its error
	e.tell(ctx, true)
	return e.value, nil
}

// get returns the value of a key, which it reads when the kept one is older than age. Errors are not kept.
func (c cache[V]) get(
	ctx context.Context, key string, age time.Duration, read func(context.Context) (V, error),
) (V, error) {
	if e, ok := c.kept.Get(key); ok && time.Now().Before(e.until) {
		e.tell(ctx, true)
		return e.value, nil
	}
	mine := false
	v, err, _ := c.flights.Do(key, func() (any, error) {
		mine = true
		// Other requests wait for this read, so it must not end with this request.
		reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.limit)
		defer cancel()
		reading, is := Reading(reading)
		e := entry[V]{at: time.Now()}
		var err error
		e.value, err = read(reading)
		e.operations, e.partial = is.Operations(), is.Partial()
		if err == nil {
			if e.partial {
				age = min(age, partialAge)
			}
			e.until = time.Now().Add(age)
			c.kept.Add(key, e)
		}
		return e, err
	})
	e := v.(entry[V])
	e.tell(ctx, !mine)
	return e.value, err
}
