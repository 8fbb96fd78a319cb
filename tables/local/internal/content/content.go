// Package content stores the bytes of blobs. Short contents are in the store. A
// long content is in a file, which is written once under a random name, never
// changed, and removed when nothing refers to it and nobody reads it.
//
// A file is on disk before the record that refers to it is written. Each such record
// has a marker in the store: after a crash the files without a marker are removed.
// Its value is the checksums of the file.
package content

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"furrow/tables/local/internal/store"
)

// Inline is the maximum size of a content in the store, in bytes. Writing one costs
// no flush beyond the one that its record needs.
const Inline = 64 << 10

// An ID identifies a content. It is random and never reused.
type ID [16]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

func newID() (id ID) {
	rand.Read(id[:]) // never fails
	return id
}

// A Ref refers to a content. The zero Ref is the empty content, which is not stored.
type Ref struct {
	ID   ID
	Size int64
	File bool // in a file, not in the store
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

// CutRef decodes a Ref from the start of b, and returns the rest.
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

// key returns the key of the content, or of the marker of its file.
func (r Ref) key(owner store.ID) []byte {
	prefix := store.PrefixBytes
	if r.File {
		prefix = store.PrefixFile
	}
	return append(owner.Key(prefix), r.ID[:]...)
}
