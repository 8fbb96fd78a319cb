package store

import (
	"encoding/json"
	"fmt"
	"iter"
)

// An Entry is a key and its value. Both are valid until the next entry only.
type Entry struct{ Key, Value []byte }

// Walk yields the entries with keys in [lower, upper) as they are now. An error
// ends it.
func (s *Store) Walk(lower, upper []byte) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		it, err := s.Iter(lower, upper)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		defer it.Close()
		for it.First(); it.Valid(); it.Next() {
			if !yield(Entry{it.Key(), it.Value()}, nil) {
				return
			}
		}
		if err := it.Error(); err != nil {
			yield(Entry{}, err)
		}
	}
}

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
