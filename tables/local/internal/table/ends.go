package table

import (
	"hash/maphash"
	"sync"

	"furrow/tables/local/internal/store"
)

// ends knows where some partitions end: of each, a row key from which on it has no rows. Devices insert rows with rising
// keys, and workers ask for the rows after a device's last one over and over, mostly in vain. Both would look for a row
// in every level of the database, which takes a good part of their time. It is safe for concurrent use.
type ends struct {
	seed   maphash.Seed
	shards [64]endShard
}

type endShard struct {
	mu   sync.RWMutex
	rows map[string]string // by the prefix of a partition's keys
}

// maxEnds is the number of partitions that a shard knows, about 100 KiB. Beyond it forgets any of them.
const maxEnds = 1024

func newEnds() *ends {
	e := &ends{seed: maphash.MakeSeed()}
	for i := range e.shards {
		e.shards[i].rows = map[string]string{}
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
	end, known := s.rows[string(partition)]
	return known && string(row) >= end
}

// has reports whether the end of a partition is known.
func (e *ends) has(partition []byte) bool {
	s := e.shard(partition)
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, known := s.rows[string(partition)]
	return known
}

// learn remembers that a partition has no rows from row on. The caller holds the partition's lock since it looked.
func (e *ends) learn(partition, row []byte) {
	s := e.shard(partition)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rows) >= maxEnds {
		for any := range s.rows {
			delete(s.rows, any)
			break
		}
	}
	s.rows[string(partition)] = string(row)
}

// raise moves the end of a partition behind a row that is about to be written. The caller holds the partition's lock
// until readers see the row.
func (e *ends) raise(partition []byte, row string) {
	s := e.shard(partition)
	s.mu.RLock()
	end, known := s.rows[string(partition)]
	s.mu.RUnlock()
	if known && row >= end {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.rows[string(partition)] = string(afterRow([]byte(row), true))
	}
}

// learnEnd remembers that a query found no rows in a partition from row on, unless it has some by now.
func (s *Service) learnEnd(partition, row []byte) error {
	defer s.locks.Lock(partition)()
	return s.findEnd(partition, row)
}

// knowEnd looks for the end of a device's partition before its first write, so that later ones, whose row keys rise,
// look for no row that they might replace. The caller holds the partition's lock.
func (s *Service) knowEnd(partition []byte, row string) error {
	if s.ends.has(partition) {
		return nil
	}
	return s.findEnd(partition, []byte(row))
}

func (s *Service) findEnd(partition, row []byte) error {
	lower := append(append([]byte{}, partition...), row...)
	it, err := s.store.Iter(lower, store.After(partition))
	if err != nil {
		return err
	}
	defer it.Close()
	if !it.First() && it.Error() == nil {
		s.ends.learn(partition, row)
	}
	return it.Error()
}
