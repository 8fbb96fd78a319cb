package model

import (
	"context"
	"sync"
	"time"

	"furrow/tables"
	"furrow/worker"
)

// A Read is how the data of an answer was read. Whatever is read within its context is added to it.
type Read struct {
	mu         sync.Mutex
	at         time.Time // when the oldest of it was read
	operations int
	polled     int  // operations of the last poll, if any of its data is in the answer
	fresh      bool // some was read for this answer
	partial    bool // an account was left out
}

type readKey struct{}

// Reading returns a context, and what becomes known of the data that is read within it.
func Reading(ctx context.Context) (context.Context, *Read) {
	r := &Read{}
	return context.WithValue(ctx, readKey{}, r), r
}

// ReadOf returns how the data was read so far that is read within a context. Without Reading, nobody is told.
func ReadOf(ctx context.Context) *Read {
	if r, ok := ctx.Value(readKey{}).(*Read); ok {
		return r
	}
	return &Read{}
}

// At returns when storage was asked for the oldest data; the zero time where none was read.
func (r *Read) At() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

// Operations returns how many storage operations reading took, possibly for another request.
func (r *Read) Operations() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.operations + r.polled
}

// Cached reports whether all data was read for another request.
func (r *Read) Cached() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.fresh && !r.at.IsZero()
}

// Partial reports whether any of the data leaves out an account, which may be well again by now.
func (r *Read) Partial() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.partial
}

func (r *Read) add(at time.Time, operations int, cached bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || !at.IsZero() && at.Before(r.at) {
		r.at = at
	}
	r.operations += operations
	r.fresh = r.fresh || !cached
}

// addPoll adds what the last poll has read.
func (r *Read) addPoll(at time.Time, operations int) {
	r.add(at, 0, true)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.polled = operations
}

// leave notes that an answer leaves out an account.
func leave(ctx context.Context) {
	r := ReadOf(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.partial = true
}

// CountTable is the OnOperation of a Store's tables.Client.
func CountTable(ctx context.Context, _ tables.Operation) { count(ctx) }

// CountQueue is the OnOperation of a Store's worker.Client.
func CountQueue(ctx context.Context, _ worker.Operation) { count(ctx) }

func count(ctx context.Context) { ReadOf(ctx).add(time.Now(), 1, false) }
