package sas

import (
	"context"
	"furrow/tables/schema"
	"sync"
	"time"
)

// shared lets many callers share few reads, each of which begins after its callers
// have come: at any moment one read of a table is under way, and the next is what
// who comes now waits for. The zero shared is ready.
type shared struct {
	mu     sync.Mutex
	tables map[string]*turns
}

type turns struct {
	reading chan struct{} // has room for the one that reads
	next    *turn         // has not begun; nil where nobody waits for it
}

// A turn is one read.
type turn struct {
	done   chan struct{}
	record schema.Policies
	now    time.Time // of storage
	err    error
}

// longestRead bounds a read, which ends with none of its callers.
const longestRead = time.Minute

type readFunc func(ctx context.Context, readings string) (schema.Policies, time.Time, error)

// get is what a read told that began after the call.
func (s *shared) get(ctx context.Context, readings string, read readFunc) (*turn, error) {
	t := s.join(ctx, readings, read)
	select {
	case <-t.done:
		return t, t.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *shared) join(ctx context.Context, readings string, read readFunc) *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tables == nil {
		s.tables = map[string]*turns{}
	}
	of := s.tables[readings]
	if of == nil {
		of = &turns{reading: make(chan struct{}, 1)}
		s.tables[readings] = of
	}
	if of.next == nil {
		of.next = &turn{done: make(chan struct{})}
		go s.take(context.WithoutCancel(ctx), of, of.next, readings, read)
	}
	return of.next
}

// take waits until the read before has ended, and reads.
func (s *shared) take(ctx context.Context, of *turns, t *turn, readings string, read readFunc) {
	of.reading <- struct{}{}
	defer func() { <-of.reading }()
	ctx, cancel := context.WithTimeout(ctx, longestRead)
	defer cancel()
	s.mu.Lock()
	of.next = nil // who comes from now on is too late for this one
	s.mu.Unlock()
	t.record, t.now, t.err = read(ctx, readings)
	close(t.done)
}
