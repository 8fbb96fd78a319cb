package content

import (
	"encoding/binary"

	"furrow/tables/local/internal/store"
)

// Hold keeps all files, also those that are dropped meanwhile, until release is called.
func (k *Keeper) Hold() (release func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.holds++
	return func() {
		k.mu.Lock()
		k.holds--
		var files []ID
		if k.holds == 0 {
			files, k.held = k.held, nil
		}
		k.mu.Unlock()
		k.Remove(files)
	}
}

// Files returns the names of the files that markers, which are keys with store.PrefixFile, refer to.
func Files(markers [][]byte) (names []string) {
	for _, key := range markers {
		_, id := parseMarker(key)
		names = append(names, id.String())
	}
	return names
}

// parseMarker returns the owner and the content of a file's marker.
func parseMarker(key []byte) (store.ID, ID) {
	return store.ID(binary.BigEndian.Uint64(key[1:])), ID(key[9:])
}
