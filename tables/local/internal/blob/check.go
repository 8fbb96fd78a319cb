package blob

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/store"
)

// Check returns an error if a record of a blob, of its blocks, or of an uncommitted block cannot be read, or refers to
// a content that is not stored in full. It leaves files that are missing to the check of their markers.
func (s *Service) Check(at *store.Snapshot, e store.Entry) error {
	owner := store.ID(binary.BigEndian.Uint64(e.Key[1:]))
	name, rest, more := bytes.Cut(e.Key[9:], []byte{0})
	refs, err := refsOf(e, more && len(rest) == 0)
	for _, r := range refs {
		if missing := s.content.Check(at, owner, r); !errors.Is(missing, fs.ErrNotExist) {
			err = errors.Join(err, missing)
		}
	}
	if err != nil {
		return fmt.Errorf("the blob %s: %w", name, err)
	}
	return nil
}

// refsOf returns the contents that a record refers to. The one that precedes uncommitted blocks has none.
func refsOf(e store.Entry, precedes bool) (refs []content.Ref, err error) {
	switch prefix := e.Key[0]; {
	case prefix == store.PrefixBlob:
		_, err = parseRecord(e.Value)
	case prefix == store.PrefixBlocks:
		for b, err := range readBlocks(e.Value) {
			if err != nil {
				return refs, err
			}
			refs = append(refs, b.Ref)
		}
	case !precedes:
		ref, _, err := content.CutRef(e.Value)
		return []content.Ref{ref}, err
	}
	return refs, err
}
