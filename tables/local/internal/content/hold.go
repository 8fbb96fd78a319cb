package content

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

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

// A directory makes the names of new files durable. Callers that wait while one
// flush runs share the next one.
type directory struct {
	fs   vfs.FS
	name string

	asked  atomic.Uint64 // calls of sync
	mu     sync.Mutex
	synced uint64 // number of calls that the last flush covered
	err    error  // the first, and permanent: a flush after a failed one proves nothing
}

func (d *directory) sync() error {
	turn := d.asked.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil || d.synced >= turn {
		return d.err
	}
	f, err := d.fs.OpenDir(d.name)
	if err != nil {
		return err
	}
	upto := d.asked.Load()
	if d.err = f.Sync(); d.err == nil {
		d.synced = upto
	}
	return errors.Join(d.err, f.Close())
}
