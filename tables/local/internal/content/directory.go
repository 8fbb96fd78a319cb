package content

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

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
