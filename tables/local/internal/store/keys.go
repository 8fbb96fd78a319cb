package store

import "encoding/binary"

// The first byte of a key says what the record is. Each service forms the rest.
const (
	PrefixNextID    byte = 'I' // prefix → last ID given out
	PrefixTable     byte = 't' // lower-case name → table
	PrefixEntity    byte = 'e' // table id, partition key, 0, row key → entity
	PrefixQueue     byte = 'q' // name → queue
	PrefixTally     byte = 'n' // queue id → what the queue counts
	PrefixMessage   byte = 'm' // queue id, message id → message without its text
	PrefixText      byte = 'x' // queue id, message id → text
	PrefixVisible   byte = 'v' // queue id, time visible, sequence → message id
	PrefixContainer byte = 'c' // name → container
	PrefixBlob      byte = 'b' // container id, blob name → blob
	PrefixBlocks    byte = 'k' // container id, blob name → where the blob's bytes are, in order
	PrefixStaged    byte = 's' // container id, blob name, 0, block id → uncommitted block
	PrefixFile      byte = 'f' // container id, content id → nothing: the content file is referred to
	PrefixBytes     byte = 'y' // container id, content id → the content itself
)

// An ID numbers tables, queues and containers, so that one deleted and made
// again shares no key with its past.
type ID uint64

// Key is prefix and id, to be followed by what the service appends.
func (id ID) Key(prefix byte) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, 64), prefix), uint64(id))
}

// After is the smallest key that does not begin with prefix.
func After(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// NewID gives out an ID of the kind of record that prefix names, and notes it in
// b. The caller holds a lock that orders that kind's NewID calls and their Apply.
func (s *Store) NewID(b *Batch, prefix byte) (ID, error) {
	key := []byte{PrefixNextID, prefix}
	value, found, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	var id uint64
	if found {
		id = binary.BigEndian.Uint64(value)
	}
	b.Set(key, binary.BigEndian.AppendUint64(nil, id+1))
	return ID(id + 1), nil
}
