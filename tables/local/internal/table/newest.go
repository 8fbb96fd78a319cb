package table

import (
	"encoding/binary"
	"slices"

	"furrow/tables/local/internal/entity"
)

// An end is what is known of the end of a partition: a row key from which on there are no rows, and the newest rows
// before it, which are all rows from a key on, and visible. There is one for each device, so it is in one piece,
// without pointers, which the garbage collector would have to follow: both keys, then key and value of each row, each
// after its length. It is never changed, because readers use it without a lock.
type end []byte

type keyedRow struct {
	key   []byte
	value entity.Stored
}

// newEnd returns an end whose rows are from a key on.
func newEnd[T []byte | string](row, from T, rows []keyedRow) end {
	size := 4 + len(row) + len(from)
	for _, r := range rows {
		size += 6 + len(r.key) + len(r.value)
	}
	e := appendText(appendText(make(end, 0, size), row), from)
	for _, r := range rows {
		e = appendText(appendText(e, r.key), r.value)
	}
	return e
}

func appendText[T ~[]byte | ~string](e end, text T) end {
	return append(binary.AppendUvarint(e, uint64(len(text))), text...)
}

// cut returns the first text of an end, and what follows it.
func (e end) cut() (text []byte, rest end) {
	n, head := binary.Uvarint(e)
	return e[head : head+int(n) : head+int(n)], e[head+int(n):]
}

// row returns the key from which on there are no rows.
func (e end) row() []byte {
	row, _ := e.cut()
	return row
}

// from returns the key from which on all rows are known, and these rows.
func (e end) from() (from []byte, rows end) {
	_, rest := e.cut()
	return rest.cut()
}

// size is how many bytes of memory the rows take.
func (e end) size() int {
	_, rows := e.from()
	return len(rows)
}

// all returns the rows. e is the part of an end after its keys.
func (e end) all() (rows []keyedRow) {
	for len(e) > 0 {
		var r keyedRow
		r.key, e = e.cut()
		r.value, e = e.cut()
		rows = append(rows, r)
	}
	return rows
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
	if at == nil {
		return nil, false
	}
	from, encoded := at.from()
	if string(row) < string(from) {
		return nil, false
	}
	rows = encoded.all()
	seen := 0
	for seen < len(rows) && string(rows[seen].key) < string(row) {
		seen++
	}
	if seen > 0 {
		s.keep(partition, at, newEnd(at.row(), afterRow(rows[seen-1].key, true), rows[seen:]))
	}
	return rows[seen:], true
}

// raise moves the end of a partition behind the rows that operations are about to write, and forgets the newest rows if
// it concerns them: who asks for them looks in the database. If the operations write rows behind all others, in order,
// rising says so, and settle is given what was known before, to know it again. The caller holds the lock of the
// partition.
func (e *ends) raise(partition []byte, ops []*operation) (before end, rising bool) {
	s := e.shard(partition)
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.known[string(partition)]
	if before == nil {
		return nil, false
	}
	from, _ := before.from()
	last, longest, concerned := string(before.row()), 0, false
	rising = true
	for _, op := range ops {
		longest = max(longest, len(op.row))
		concerned = concerned || op.row >= string(from)
		if op.kind == remove || op.row < last {
			rising = false
		}
		if op.kind != remove && op.row >= last {
			last = op.row + "\x00"
		}
	}
	switch {
	case len(partition)+longest >= maxKeys:
		s.forget(string(partition))
		return nil, false
	case concerned:
		s.keep(partition, before, newEnd(last, last, nil))
	}
	return before, rising
}

// settle adds the rows that operations have written to the newest ones before them.
func (e *ends) settle(partition []byte, before end, ops []*operation, rows []entity.Stored) {
	s := e.shard(partition)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.known[string(partition)]
	if at == nil {
		return // it was forgotten meanwhile
	}
	from, encoded := before.from()
	all := encoded.all()
	for i, op := range ops {
		all = append(all, keyedRow{[]byte(op.row), rows[i]})
	}
	from, all = bounded(from, all)
	s.keep(partition, at, newEnd(at.row(), from, all))
}

// bounded returns the last ones of rows, of maxNewest bytes at most, and the key from which on these are all.
func bounded(from []byte, rows []keyedRow) ([]byte, []keyedRow) {
	size := 0
	for i, r := range slices.Backward(rows) {
		if size += 6 + len(r.key) + len(r.value); size > maxNewest {
			return afterRow(r.key, true), rows[i+1:]
		}
	}
	return from, rows
}

// keep replaces what is known of a partition. If the shard has no room for its rows, it makes some among a few others,
// or keeps none. The caller holds mu.
func (s *endShard) keep(partition []byte, before, after end) {
	s.size -= before.size()
	if size := after.size(); s.size+size > maxShardNewest {
		s.makeRoom(string(partition), size)
		if s.size+size > maxShardNewest {
			after = after.withoutRows()
		}
	}
	s.size += after.size()
	s.known[string(partition)] = after
}

// withoutRows returns the end with no row known.
func (e end) withoutRows() end { return newEnd(e.row(), e.row(), nil) }

// makeRoom forgets the newest rows of a few partitions other than one, until so many bytes more are allowed.
func (s *endShard) makeRoom(except string, size int) {
	tries := 0
	for partition, other := range s.known {
		if tries++; tries > 8 || s.size+size <= maxShardNewest {
			return
		}
		if partition != except {
			s.size -= other.size()
			s.known[partition] = other.withoutRows()
		}
	}
}
