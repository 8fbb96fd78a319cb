package content

import (
	"encoding/hex"
	"fmt"

	"furrow/tables/local/internal/store"
)

// Missing is the error for a file that is referred to but does not exist.
type Missing struct {
	Owner store.ID
	ID    ID
	Path  string
}

func (m *Missing) Error() string {
	return fmt.Sprintf("the file %s is missing: restore it from a backup", m.Path)
}

// recover removes the files that no record refers to: uploads that a crash
// interrupted, and files of overwritten blobs.
func (k *Keeper) recover() error {
	left, err := k.files()
	if err != nil {
		return err
	}
	for e, err := range k.store.Walk([]byte{store.PrefixFile}, []byte{store.PrefixFile + 1}) {
		if err != nil {
			return err
		}
		owner, id := parseMarker(e.Key)
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

// files returns the contents that have a file. It ignores files with other names.
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
