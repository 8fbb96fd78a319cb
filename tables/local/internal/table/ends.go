package table

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"

	"furrow/tables/local/internal/store"
)

// ends knows where some partitions end: a row key from which on a partition has no rows. Devices
// insert rows with rising keys, and workers ask for the rows after a device's last one over and over,
// mostly in vain. Both would look for a row in every level of the database, which takes a good part
// of their time. It is safe for concurrent use.
type ends struct {
	seed   maphash.Seed
	shards [64]endShard
}

type endShard struct {
	mu   sync.RWMutex
	rows map[string]string // by the prefix of a partition's keys
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

// has reports whether the end of a partition is known, and whether it is worth looking for: workers ask for all
// devices in turn, so if each one displaced another, nothing would be known for long enough to be asked for again.
func (e *ends) has(partition []byte) (known, worth bool) {
	s := e.shard(partition)
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, known = s.rows[string(partition)]
	return known, known || len(s.rows) < maxEnds || rand.IntN(displace) == 0
}

// learn remembers that a partition has no rows from row on. The caller holds the partition's lock since it looked.
func (e *ends) learn(partition, row []byte) {
	if len(partition)+len(row) > maxKeys {
		return
	}
	s := e.shard(partition)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.rows[string(partition)]; !known && len(s.rows) >= maxEnds {
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
	if !known || row < end {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known = s.rows[string(partition)]; !known {
		return // it was forgotten meanwhile
	}
	if len(partition)+len(row) >= maxKeys {
		delete(s.rows, string(partition))
		return
	}
	s.rows[string(partition)] = string(afterRow([]byte(row), true))
}

// learnEnd remembers that a query found no rows in a partition from row on, unless it has some by now.
func (s *Service) learnEnd(partition, row []byte) {
	if _, worth := s.ends.has(partition); !worth {
		return
	}
	defer s.locks.Lock(partition)()
	s.findEnd(partition, row)
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
