package store

import (
	"hash/maphash"
	"sync"
)

// Locks is one lock per key, approximately: keys share a fixed number of
// mutexes. A holder of one takes no other.
type Locks struct {
	seed   maphash.Seed
	stripe [256]sync.Mutex
}

// NewLocks makes a set of locks.
func NewLocks() *Locks { return &Locks{seed: maphash.MakeSeed()} }

// Lock locks key's mutex and returns its unlock.
func (l *Locks) Lock(key []byte) (unlock func()) {
	m := &l.stripe[maphash.Bytes(l.seed, key)%uint64(len(l.stripe))]
	m.Lock()
	return m.Unlock
}
