// Package shares divides room that many owners use, so that none of them can take the last of it: memory for bodies,
// questions that are answered at a time, streams, requests that use storage.
//
// Whoever takes room names its owners, the widest first: a tenant, then a person or device of it. While little is
// taken, anybody may have any part. The last quarter is not for a tenant that has its small share already, and the last
// half not for such a person or device. With room for 64 and small shares of 4:
//
//	        0               32              48              64
//	        |- - - - - - - -|- - - - - - - -|- - - - - - - -|
//	person  as many as wanted               its first 4
//	tenant  as many as wanted . . . . . . . its first 4
//
// A person alone has 32, and a tenant's people have 48 together. Then 12 more owners of other tenants find room.
package shares

import (
	"container/list"
	"context"
	"sync"
)

// Shares counts who has how much of some room. It is safe for concurrent use.
type Shares struct {
	size, small int64

	mu    sync.Mutex
	used  int64
	by    map[string]int64
	waits list.List // of *waiter, the first one first
}

// A waiter waits for room.
type waiter struct {
	n      int64
	owners []string
	has    chan struct{} // closed when it has it
}

// New returns Shares of an amount of room, in whatever unit, and of the small share that each may have.
func New(size, small int64) *Shares {
	return &Shares{size: size, small: max(1, small), by: map[string]int64{}}
}

// Take takes n for owners, and reports whether there is room.
func (s *Shares) Take(n int64, owners ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.fits(n, owners) {
		return false
	}
	s.add(n, owners)
	return true
}

// fits reports whether there is room for n more. The lock is held.
func (s *Shares) fits(n int64, owners []string) bool {
	if s.used+n > s.size {
		return false
	}
	for i, owner := range owners {
		free := (s.size*int64(i+1) + 3) / 4 // that is left to others, rounded up
		if s.used+n > s.size-free && s.by[owner]+n > s.small {
			return false
		}
	}
	return true
}

// Give gives back n that Take or Wait took for the same owners.
func (s *Shares) Give(n int64, owners ...string) {
	if n == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(-n, owners)
	for e := s.waits.Front(); e != nil && s.used < s.size; {
		next, w := e.Next(), e.Value.(*waiter)
		if s.fits(w.n, w.owners) {
			s.add(w.n, w.owners)
			s.waits.Remove(e)
			close(w.has)
		}
		e = next
	}
}

func (s *Shares) add(n int64, owners []string) {
	s.used += n
	for _, owner := range owners {
		if s.by[owner] += n; s.by[owner] == 0 {
			delete(s.by, owner)
		}
	}
}

// Wait takes n for owners as soon as there is room, in the order of the calls. It reports whether that was before ctx
// ended.
func (s *Shares) Wait(ctx context.Context, n int64, owners ...string) bool {
	s.mu.Lock()
	if s.fits(n, owners) {
		s.add(n, owners)
		s.mu.Unlock()
		return true
	}
	w := &waiter{n, owners, make(chan struct{})}
	e := s.waits.PushBack(w)
	s.mu.Unlock()
	select {
	case <-w.has:
		return true
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.has: // both at once
		return true
	default:
		s.waits.Remove(e)
		return false
	}
}

// Of returns how much an owner has.
func (s *Shares) Of(owner string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[owner]
}

// Full reports whether there is no room for n, whoever takes it.
func (s *Shares) Full(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used+n > s.size
}

// Used returns how much is taken.
func (s *Shares) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}
