package content

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"furrow/tables/local/internal/store"
)

// A Missing is a file that is referred to and is not there.
type Missing struct {
	Owner store.ID
	ID    ID
	Path  string
}

func (m *Missing) Error() string {
	return fmt.Sprintf("the file %s is missing: restore it from a backup", m.Path)
}

// recover removes the files that no record refers to: uploads that a crash cut
// off, and files of overwritten blobs that were still to be removed.
func (k *Keeper) recover() error {
	left, err := k.files()
	if err != nil {
		return err
	}
	for e, err := range k.store.Walk([]byte{store.PrefixFile}, []byte{store.PrefixFile + 1}) {
		if err != nil {
			return err
		}
		owner, id := store.ID(binary.BigEndian.Uint64(e.Key[1:])), ID(e.Key[9:])
		if !left[id] {
			return &Missing{owner, id, k.path(id)}
		}
		delete(left, id)
	}
	for id := range left {
		if err := k.fs.Remove(k.path(id)); err != nil {
			return err
		}
	}
	return nil
}

// files are the contents that have a file. Files with other names are not ours.
func (k *Keeper) files() (map[ID]bool, error) {
	names, err := k.fs.List(k.dir.name)
	if err != nil {
		return nil, err
	}
	ids := make(map[ID]bool, len(names))
	for _, name := range names {
		if raw, err := hex.DecodeString(name); err == nil && len(raw) == len(ID{}) {
			ids[ID(raw)] = true
		}
	}
	return ids, nil
}
