// Package pack writes and reads the states of folds: numbers and names in a compact binary form, with an error instead
// of a panic for what is damaged.
package pack

import (
	"encoding/binary"
	"errors"
	"math"
)

// ErrDamaged says that a state ends too soon or too late.
var ErrDamaged = errors.New("the state is damaged")

// Float appends a double, by its bits.
func Float(b []byte, f float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(f))
}

// Int appends a whole number.
func Int[N ~int | ~int64 | ~uint8](b []byte, n N) []byte { return binary.AppendVarint(b, int64(n)) }

// Text appends a text with its length.
func Text(b []byte, s string) []byte { return append(Int(b, len(s)), s...) }

// A Reader reads what the functions above wrote. After the first error it reads zeros, so only Err must be checked.
type Reader struct {
	rest    []byte
	damaged bool
}

// NewReader reads b, which must not change meanwhile.
func NewReader(b []byte) *Reader { return &Reader{rest: b} }

// Float reads a double.
func (r *Reader) Float() float64 {
	if len(r.rest) < 8 {
		r.fail()
		return 0
	}
	f := math.Float64frombits(binary.BigEndian.Uint64(r.rest))
	r.rest = r.rest[8:]
	return f
}

// Int reads a whole number.
func (r *Reader) Int() int64 {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// Count reads the number of things that follow, each at least a byte long.
func (r *Reader) Count() int {
	n := r.Int()
	if n < 0 || n > int64(len(r.rest)) {
		r.fail()
		return 0
	}
	return int(n)
}

// Text reads a text.
func (r *Reader) Text() string {
	n := r.Count()
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *Reader) fail() { r.rest, r.damaged = nil, true }

// Err returns ErrDamaged unless everything was read, and nothing else follows.
func (r *Reader) Err() error {
	if r.damaged || len(r.rest) > 0 {
		return ErrDamaged
	}
	return nil
}
