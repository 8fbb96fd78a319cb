package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"furrow/tables/local/internal/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// lookEvery is shorter than it takes to fill what is kept free.
const lookEvery = 50 * time.Millisecond

// A Room keeps part of the disk free: for what Pebble holds in memory and for its compactions, and so that a store
// whose disk is full can still be opened, read and deleted from. A file takes up some of it in advance, because
// other programs fill the disk too; it is removed when it is needed, and written again when there is room.
type Room struct {
	fs      vfs.FS
	dir     string
	log     *slog.Logger
	unit    uint64        // bytes: what is kept free, and the size of the reserve
	free    atomic.Uint64 // bytes, at the last look
	looked  atomic.Int64  // ns since 1970
	refuses atomic.Bool   // for the log

	mu sync.Mutex // guards the reserve
}

// Refused returns below how many free bytes of a disk of so many a SAS writes nothing that grows. The account key has
// half of them.
func Refused(total uint64) uint64 { return 2 * min(max(total/8, 16<<20), 64<<20) }

// newRoom looks at the disk of dir. Where its size is not known, there is always room.
func newRoom(fs vfs.FS, dir string, log *slog.Logger) *Room {
	r := &Room{fs: fs, dir: dir, log: log}
	if usage, err := fs.GetDiskUsage(dir); err == nil {
		r.unit = Refused(usage.TotalBytes) / 2
	}
	if r.look() < r.unit {
		r.spend()
	}
	return r
}

// Check returns wire.ErrFull if nothing that grows may be written. A SAS is refused before the account key, so that
// devices leave room for what workers write and for revocations.
func (r *Room) Check(owner bool) error {
	free := r.look()
	full := free < 2*r.unit
	if r.refuses.CompareAndSwap(!full, full) {
		if full {
			r.log.Error("disk full", "directory", r.dir, "freeBytes", free)
		} else {
			r.log.Info("disk has room again", "directory", r.dir, "freeBytes", free)
		}
	}
	if owner && free >= r.unit || !full {
		return nil
	}
	return wire.ErrFull
}

// Free returns the bytes that are free, and whether new data is refused.
func (r *Room) Free() (bytes uint64, refuses bool) {
	bytes = r.look()
	return bytes, bytes < 2*r.unit
}

// look returns the bytes that are free, as they were a moment ago.
func (r *Room) look() uint64 {
	now := time.Now().UnixNano()
	if last := r.looked.Load(); now-last < int64(lookEvery) || !r.looked.CompareAndSwap(last, now) {
		return r.free.Load()
	}
	free := ^uint64(0)
	if usage, err := r.fs.GetDiskUsage(r.dir); err == nil {
		free = usage.AvailBytes
	} else if !errors.Is(err, vfs.ErrUnsupported) {
		r.log.Warn("free disk space unknown", "directory", r.dir, "err", err)
	}
	r.free.Store(free)
	return free
}

func (r *Room) reserve() string { return r.fs.PathJoin(r.dir, "reserve") }

// spend removes the reserve. Pebble's file system calls it when the disk is full, and then tries again.
func (r *Room) spend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fs.Remove(r.reserve()) == nil {
		r.looked.Store(0)
		r.log.Error("disk full: the reserve is spent", "directory", r.dir, "bytes", r.unit)
	}
}

// Keep writes the reserve whenever it is missing and there is room for it, until ctx ends.
func (r *Room) Keep(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := r.restore(); err != nil {
			r.log.Warn("reserve not written", "directory", r.dir, "err", err)
		}
	}
}

func (r *Room) restore() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if info, err := r.fs.Stat(r.reserve()); err == nil && uint64(info.Size()) == r.unit || r.unit == 0 ||
		r.look() < 4*r.unit {
		return nil
	}
	f, err := r.fs.Create(r.reserve(), "reserve")
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	rand.Read(block) // file systems that compress would store zeros in no space
	for left := r.unit; err == nil && left > 0; left -= min(left, uint64(len(block))) {
		_, err = f.Write(block[:min(left, uint64(len(block)))])
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("reserve: %w", err), r.fs.Remove(r.reserve()))
	}
	return nil
}
