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
	m := l.lockFor(key)
	m.Lock()
	return m.Unlock
}

// TryLock is Lock for who does not wait: unlock is nil if the lock is held.
func (l *Locks) TryLock(key []byte) (unlock func()) {
	m := l.lockFor(key)
	if !m.TryLock() {
		return nil
	}
	return m.Unlock
}

func (l *Locks) lockFor(key []byte) *sync.Mutex {
	return &l.stripe[maphash.Bytes(l.seed, key)%uint64(len(l.stripe))]
}
