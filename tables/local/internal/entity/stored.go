package entity

import (
	"encoding/binary"
	"fmt"
	"iter"
)

// A Stored is an encoded entity. Reading it allocates nothing, so that a query can
// filter and render rows without decoding them first.
type Stored []byte

// Timestamp returns the time of the last write, in ticks.
func (s Stored) Timestamp() int64 { return int64(binary.BigEndian.Uint64(s[1:])) }

// Check returns an error if this program cannot read the record.
func (s Stored) Check() error {
	if len(s) < 9 || s[0] != 1 {
		return fmt.Errorf("stored entity of %d bytes has an unknown format", len(s))
	}
	return nil
}

// All yields the properties. A name and a value are valid until the next one only.
func (s Stored) All() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		b := s[9:]
		for len(b) > 0 {
			var name []byte
			name, b = chunk(b)
			v := Value{Type: Type(b[0])}
			b = b[1:]
			switch v.Type {
			case String, GUID, Binary:
				v.Raw, b = chunk(b)
			case Double:
				v.Num, b = int64(binary.BigEndian.Uint64(b)), b[8:]
			default:
				n, size := binary.Varint(b)
				v.Num, b = n, b[size:]
			}
			if !yield(name, v) {
				return
			}
		}
	}
}

// Find returns the value of a property, with type Null if it is missing.
func (s Stored) Find(name string) Value {
	for n, v := range s.All() {
		if string(n) == name {
			return v
		}
	}
	return Value{}
}

// Entity decodes s. The result shares no memory with it.
func (s Stored) Entity() *Entity {
	e := &Entity{Timestamp: s.Timestamp()}
	for name, v := range s.All() {
		v.Raw = append([]byte(nil), v.Raw...)
		e.Properties = append(e.Properties, Property{string(name), v})
	}
	return e
}

// chunk reads a length and that many bytes from the start of b.
func chunk(b []byte) (chunk, rest []byte) {
	n, size := binary.Uvarint(b)
	b = b[size:]
	return b[:n:n], b[n:]
}
