package table

import (
	"bytes"
	"slices"
	"strings"

	"furrow/tables/local/internal/entity"
)

// newest are the rows of a partition with keys from a key on, in order: all of them, and they are visible.
type newest struct {
	from string
	rows []keyedRow // never changed, because readers use them without a lock
}

type keyedRow struct {
	key   string
	value entity.Stored
}

// size is how many bytes of memory a row takes, with the headers of key and value.
func (r keyedRow) size() int { return len(r.key) + cap(r.value) + 40 }

func (n newest) size() (size int) {
	for _, r := range n.rows {
		size += r.size()
	}
	return size
}

// Bounds of the sizes of the newest rows that are known: of a partition, and of a shard.
const (
	maxNewest      = 1 << 10
	maxShardNewest = 256 << 10
)

// since returns the rows of a partition from row on, if they are known. It forgets those before: who asks for the rows
// after the last one that he has seen does not come back for them.
func (e *ends) since(partition, row []byte) (rows []keyedRow, known bool) {
	s := e.shard(partition)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.known[string(partition)]
	if at == nil || string(row) < at.from {
		return nil, false
	}
	seen := 0
	for seen < len(at.rows) && at.rows[seen].key < string(row) {
		seen++
	}
	rows = at.rows
	if seen > 0 {
		rows = append([]keyedRow(nil), rows[seen:]...)
		s.keep(at, newest{at.rows[seen-1].key + "\x00", rows})
	}
	return rows, true
}

// raise moves the end of a partition behind the rows that operations are about to write, and forgets the newest rows if
// it concerns them: who asks for them looks in the database. If the operations write rows behind all others, in order,
// rising says so, and settle is given those before, to know them again. The caller holds the lock of the partition.
func (e *ends) raise(partition []byte, ops []*operation) (before newest, rising bool) {
	s := e.shard(partition)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.known[string(partition)]
	if at == nil {
		return newest{}, false
	}
	last, longest, concerned := at.row, 0, false
	rising = true
	for _, op := range ops {
		longest = max(longest, len(op.row))
		concerned = concerned || op.row >= at.from
		if op.kind == remove || op.row < last {
			rising = false
		}
		if op.kind != remove && op.row >= last {
			last = op.row + "\x00"
		}
	}
	if len(partition)+longest >= maxKeys {
		s.forget(string(partition))
		return newest{}, false
	}
	before, at.row = at.newest, last
	if concerned {
		s.keep(at, newest{from: last})
	}
	return before, rising
}

// settle adds the rows that operations have written to the newest ones before them.
func (e *ends) settle(partition []byte, before newest, ops []*operation, rows []entity.Stored) {
	s := e.shard(partition)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.known[string(partition)]
	if at == nil {
		return // it was forgotten meanwhile
	}
	all := append([]keyedRow(nil), before.rows...)
	for i, op := range ops {
		all = append(all, keyedRow{op.row, slices.Clip(rows[i])})
	}
	kept := newest{before.from, all}.bounded()
	for i := max(0, len(kept.rows)-len(ops)); i < len(kept.rows); i++ { // they share memory with the request
		r := &kept.rows[i]
		r.key, r.value = strings.Clone(r.key), bytes.Clone(r.value)
	}
	s.keep(at, kept)
}

// bounded returns the last ones of the rows, of maxNewest bytes at most.
func (n newest) bounded() newest {
	first, size := len(n.rows), 0
	for first > 0 && size+n.rows[first-1].size() <= maxNewest {
		first--
		size += n.rows[first].size()
	}
	if first == 0 {
		return n
	}
	return newest{n.rows[first-1].key + "\x00", append([]keyedRow(nil), n.rows[first:]...)}
}

// keep replaces the newest rows of a partition. If the shard has no room for them, it makes some among a few others,
// or keeps none. The caller holds mu.
func (s *endShard) keep(at *end, n newest) {
	s.size -= at.newest.size()
	at.newest = newest{from: at.row}
	size := n.size()
	if s.size+size > maxShardNewest {
		s.makeRoom(size)
	}
	if s.size+size <= maxShardNewest {
		s.size += size
		at.newest = n
	}
}

// makeRoom forgets the newest rows of a few partitions, until so many bytes more are allowed.
func (s *endShard) makeRoom(size int) {
	tries := 0
	for _, other := range s.known {
		if tries++; tries > 8 || s.size+size <= maxShardNewest {
			return
		}
		s.size -= other.newest.size()
		other.newest = newest{from: other.row}
	}
}
