// Package content keeps the bytes of blobs: short ones in the store, long ones
// in files of their own, which are written once under a random name, never
// changed, and removed when nobody refers to them and nobody reads them.
//
// A file is on disk before the record that refers to it is written. A marker in
// the store goes with every such record, so that after a crash the files without
// one are known to be leftovers.
package content

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"furrow/tables/local/internal/store"
)

// Inline is the most bytes that a content in the store has; longer ones have a
// file. A short one then costs no more than the flush that its record needs anyway.
const Inline = 64 << 10

// An ID names a content. It is random, and never used again.
type ID [16]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

func newID() (id ID) {
	rand.Read(id[:]) // never fails
	return id
}

// A Ref says where a content is and how long it is. Zero is the empty content,
// which is nowhere.
type Ref struct {
	ID   ID
	Size int64
	File bool // in a file of its own, otherwise in the store
}

// Append encodes r.
func (r Ref) Append(dst []byte) []byte {
	n := uint64(r.Size) << 1
	if r.File {
		n |= 1
	}
	return append(binary.AppendUvarint(dst, n), r.ID[:]...)
}

var errRef = errors.New("a reference to a content is damaged")

// CutRef reads what Append wrote, and gives what follows it.
func CutRef(b []byte) (r Ref, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || len(b) < size+len(r.ID) {
		return r, nil, errRef
	}
	b = b[size:]
	copy(r.ID[:], b)
	r.Size, r.File = int64(n>>1), n&1 == 1
	return r, b[len(r.ID):], nil
}

// key is where the store has the content, or the marker of its file.
func (r Ref) key(owner store.ID) []byte {
	prefix := store.PrefixBytes
	if r.File {
		prefix = store.PrefixFile
	}
	return append(owner.Key(prefix), r.ID[:]...)
}
