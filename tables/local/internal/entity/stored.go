package entity

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
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

// All yields the properties. Names and values share memory with s.
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

// Merge returns the properties of s with those of other, whose names differ, added or replaced. They share memory with
// both.
func (s Stored) Merge(other []Property) []Property {
	merged, replaced := make([]Property, 0, len(other)+8), 0
	for name, v := range s.All() {
		i := slices.IndexFunc(other, func(p Property) bool { return p.Name == string(name) })
		if i >= 0 {
			merged = append(merged, other[i])
			replaced++
			continue
		}
		merged = append(merged, Property{string(name), v})
	}
	if replaced == len(other) {
		return merged
	}
	for _, p := range other {
		if s.Find(p.Name).Type == Null { // it has none of the name
			merged = append(merged, p)
		}
	}
	return merged
}

// chunk reads a length and that many bytes from the start of b.
func chunk(b []byte) (chunk, rest []byte) {
	n, size := binary.Uvarint(b)
	b = b[size:]
	return b[:n:n], b[n:]
}
