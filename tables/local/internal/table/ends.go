package table

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"

	"furrow/tables/local/internal/store"
)

// ends knows where some partitions end: a row key from which on a partition has no rows. Devices
// insert rows with rising keys, and workers ask for the rows after a device's last one over and over.
// Both would look for a row in every level of the database, which takes a good part of their time.
// The rows that were written behind a known end are known, too, as long as they are few. It is safe
// for concurrent use.
type ends struct {
	seed   maphash.Seed
	shards [64]endShard
}

type endShard struct {
	mu    sync.RWMutex
	known map[string]end // by the prefix of a partition's keys
	size  int            // of the newest rows of all of them
}

// Bounds of what a shard knows: the number of partitions, beyond which it forgets any of them, and
// the bytes of the keys of each. Those of devices are shorter than 200.
const (
	maxEnds = 1024
	maxKeys = 256
)

// displace is how many unknown partitions are passed over for each that displaces a known one.
const displace = 16

func newEnds() *ends {
	e := &ends{seed: maphash.MakeSeed()}
	for i := range e.shards {
		e.shards[i].known = map[string]end{}
	}
	return e
}

func (e *ends) shard(partition []byte) *endShard {
	return &e.shards[maphash.Bytes(e.seed, partition)%uint64(len(e.shards))]
}

// before reports whether a partition is known to have no rows from row on.
func (e *ends) before(partition, row []byte) bool {
	s := e.shard(partition)
	s.mu.RLock()
	defer s.mu.RUnlock()
	at := s.known[string(partition)]
	return at != nil && string(row) >= string(at.row())
}

// has reports whether the end of a partition is known, and whether it is worth looking for: workers ask for all
// devices in turn, so if each one displaced another, nothing would be known for long enough to be asked for again.
func (e *ends) has(partition []byte) (known, worth bool) {
	s := e.shard(partition)
	s.mu.RLock()
	defer s.mu.RUnlock()
	known = s.known[string(partition)] != nil
	return known, known || len(s.known) < maxEnds || rand.IntN(displace) == 0
}

// learn remembers that a partition has no rows from row on. Their lengths are at most maxKeys, and the caller holds the
// partition's lock since it looked.
func (e *ends) learn(partition, row []byte) {
	s := e.shard(partition)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.known[string(partition)]
	switch {
	case at != nil && string(at.row()) <= string(row):
		return // which says more
	case at == nil && len(s.known) >= maxEnds:
		for any := range s.known {
			s.forget(any)
			break
		}
	case at != nil:
		s.forget(string(partition))
	}
	s.known[string(partition)] = newEnd(row, row, nil)
}

// forget forgets a partition. The caller holds mu.
func (s *endShard) forget(partition string) {
	if at := s.known[partition]; at != nil {
		s.size -= at.size()
		delete(s.known, partition)
	}
}

// learnEnd learns that a partition has no rows from row on, if so, after a query that found none up to its own end. It
// gives up where a writer holds the lock: the answer does not wait for it, and a later query learns the same.
func (s *Service) learnEnd(partition, row []byte) {
	if unlock := s.locks.TryLock(partition); unlock != nil {
		defer unlock()
		s.findEnd(partition, row)
	}
}

// knowEnd looks for the end of a device's partition before its first write, so that later ones, whose row keys rise,
// look for no row that they might replace. The caller holds the partition's lock.
func (s *Service) knowEnd(partition []byte, row string) {
	if known, worth := s.ends.has(partition); !known && worth {
		s.findEnd(partition, []byte(row))
	}
}

// findEnd learns that a partition has no rows from row on, if so. Where that cannot be read, because a file is damaged,
// it learns nothing, and whoever asks for these rows is told.
func (s *Service) findEnd(partition, row []byte) {
	if len(partition)+len(row) > maxKeys {
		return
	}
	lower := append(append([]byte{}, partition...), row...)
	it, err := s.store.Iter(lower, store.After(partition))
	if err != nil {
		return
	}
	none := !it.First()
	if it.Close() == nil && none { // which returns the errors of First, too
		s.ends.learn(partition, row)
	}
}
