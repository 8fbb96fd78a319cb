package store

import "encoding/binary"

// The first byte of a key is the kind of its record. Each service forms the rest.
const (
	PrefixNextID    byte = 'I' // prefix → last ID assigned
	PrefixTable     byte = 't' // lower-case name → table
	PrefixEntity    byte = 'e' // table id, partition key, 0, row key → entity
	PrefixQueue     byte = 'q' // name → queue
	PrefixTally     byte = 'n' // queue id → counters of the queue
	PrefixMessage   byte = 'm' // queue id, message id → message without its text
	PrefixText      byte = 'x' // queue id, message id → text
	PrefixVisible   byte = 'v' // queue id, time visible, sequence → message id
	PrefixContainer byte = 'c' // name → container
	PrefixBlob      byte = 'b' // container id, blob name → blob
	PrefixBlocks    byte = 'k' // container id, blob name → a block blob's blocks, in order;
	// container id, blob name, 0, offset → one block of an append blob
	PrefixStaged     byte = 's' // container id, blob name, 0, block id → uncommitted block
	PrefixFile       byte = 'f' // container id, content id → checksums of the content file, which is referred to
	PrefixProperties byte = 'p' // name of a service → its properties
	PrefixBytes      byte = 'y' // container id, content id → the content itself
)

// An ID identifies a table, queue or container. One that is deleted and created
// again gets a new ID, so it shares no keys with the old one.
type ID uint64

// Key returns prefix and id, to which the service appends.
func (id ID) Key(prefix byte) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, 64), prefix), uint64(id))
}

// After returns the smallest key after all keys with the prefix, nil if there is none.
func After(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// NewID assigns an ID to a record of the kind prefix, and records that in b. The
// caller holds a lock from the call until it has applied b.
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
