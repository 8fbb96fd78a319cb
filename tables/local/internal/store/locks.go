package store

import (
	"hash/maphash"
	"sync"
)

// Locks is a set of locks by key. Keys share a fixed number of mutexes, so a holder
// of one must not take another.
type Locks struct {
	seed   maphash.Seed
	stripe [256]sync.Mutex
}

// NewLocks creates a set of locks.
func NewLocks() *Locks { return &Locks{seed: maphash.MakeSeed()} }

// Lock locks key and returns the function that unlocks it.
func (l *Locks) Lock(key []byte) (unlock func()) {
	m := &l.stripe[maphash.Bytes(l.seed, key)%uint64(len(l.stripe))]
	m.Lock()
	return m.Unlock
}
