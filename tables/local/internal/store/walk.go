package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"iter"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// An Entry is a key and its value. Both are valid until the next entry only.
type Entry struct{ Key, Value []byte }

// Walk yields the entries with keys in [lower, upper) as they are now. An error
// ends it.
func (s *Store) Walk(lower, upper []byte) iter.Seq2[Entry, error] { return walk(s.db, lower, upper) }

// Walk yields the entries of the snapshot with keys in [lower, upper). What cannot be read ends it.
func (s *Snapshot) Walk(lower, upper []byte) iter.Seq2[Entry, error] { return walk(s.s, lower, upper) }

func walk(from pebble.Reader, lower, upper []byte) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		it, err := from.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for it.First(); it.Valid(); it.Next() {
			value, err := it.ValueAndErr()
			if !yield(Entry{it.Key(), value}, err) {
				_ = it.Close() // its error is known, or nobody asks
				return
			}
		}
		if err := cmp.Or(it.Error(), it.Close()); err != nil {
			yield(Entry{}, err)
		}
	}
}

// Check reads the index of every file, and returns an error if keys are out of order. It reads no values.
func (s *Store) Check() error { return s.db.CheckLevels(nil) }

// Records yields the values with keys in [lower, upper), decoded from JSON.
func Records[R any](s *Store, lower, upper []byte) iter.Seq2[*R, error] {
	return func(yield func(*R, error) bool) {
		for e, err := range s.Walk(lower, upper) {
			var r *R
			if err == nil {
				r = new(R)
				err = json.Unmarshal(e.Value, r)
			}
			if err != nil {
				yield(nil, fmt.Errorf("record %q: %w", e.Key, err))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

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
