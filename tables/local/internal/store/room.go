package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"furrow/tables/local/internal/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fullPause is how long Pebble's writes wait where there is no room and no reserve.
const fullPause = 500 * time.Millisecond

// lookEvery is shorter than it takes to fill what is kept free.
const lookEvery = 50 * time.Millisecond

// A Room keeps part of the disk free: for what Pebble holds in memory and for its compactions, and so that a store
// whose disk is full can still be opened, read and deleted from. A file takes up some of it in advance, because
// other programs fill the disk too; it is removed when it is needed, and written again when there is room.
//
//	free   0           1           2
//	units  |-----------|-----------|----------
//	       Pebble      account key devices too
//	       alone       may write   may write
//
// Where other programs have left nothing, the reserve is one unit: half of it is for runs, so that retention can make
// room.
type Room struct {
	fs      vfs.FS
	dir     string
	log     *slog.Logger
	unit    uint64        // bytes: what is kept free, and the size of the reserve
	free    atomic.Uint64 // bytes, at the last look
	size    atomic.Uint64 // of the disk, then
	looked  atomic.Int64  // ns since 1970
	refuses atomic.Bool   // for the log
	kept    atomic.Bool   // there is a reserve

	mu sync.Mutex // guards the reserve
}

// Refused returns below how many free bytes of a disk of so many a SAS writes nothing that grows: two units.
func Refused(total uint64) uint64 { return 2 * min(max(total/8, 16<<20), 64<<20) }

// newRoom looks at the disk of dir. Where its size is not known, there is always room.
func newRoom(fs vfs.FS, dir string, log *slog.Logger) *Room {
	r := &Room{fs: fs, dir: dir, log: log}
	if usage, err := fs.GetDiskUsage(dir); err == nil {
		r.unit = Refused(usage.TotalBytes) / 2
	}
	if r.kept.Store(r.found()); r.Free() < r.unit {
		r.spend()
	}
	return r
}

// open fails if there is too little for Pebble to open a database: it would wait for more without an end.
func (r *Room) open() error {
	if free := r.Free(); free < r.unit/8 {
		return fmt.Errorf("the disk has %d KiB free: make room for at least %d MiB", free>>10, r.unit/4>>20)
	}
	return nil
}

// Check returns wire.ErrFull if nothing that grows may be written. A SAS is refused before the account key, so that
// devices leave room for what workers write and for revocations.
func (r *Room) Check(owner bool) error {
	free := r.Free()
	if owner && free < r.unit/8 && r.spend() { // other programs have filled the disk
		free = r.Free()
	}
	least := r.unit
	if !r.kept.Load() {
		least /= 2
	}
	full := free < 2*r.unit // as Full has it
	r.logChange(full, free)
	if owner && free >= least || !full {
		return nil
	}
	return wire.ErrFull
}

// logChange logs that the disk is full or has room again, once.
func (r *Room) logChange(full bool, free uint64) {
	switch {
	case !r.refuses.CompareAndSwap(!full, full):
	case full:
		r.log.Error("disk full", "directory", r.dir, "freeBytes", free)
	default:
		r.log.Info("disk has room again", "directory", r.dir, "freeBytes", free)
	}
}

// failed logs an error of a compaction, which Pebble tries again.
func (r *Room) failed(err error) {
	if errors.Is(err, syscall.ENOSPC) {
		r.logChange(true, r.Free())
		return
	}
	r.log.Error("background error of the database", "error", FirstLine(err))
}

// Full reports whether a SAS is refused.
func (r *Room) Full() bool { return r.Free() < 2*r.unit }

// Size returns the bytes of the disk, or 0 if that is not known.
func (r *Room) Size() uint64 { return r.size.Load() }

// Free returns the bytes that are free, as they were a moment ago.
func (r *Room) Free() uint64 {
	now := time.Now().UnixNano()
	if last := r.looked.Load(); now-last < int64(lookEvery) || !r.looked.CompareAndSwap(last, now) {
		return r.free.Load()
	}
	free := ^uint64(0)
	if usage, err := r.fs.GetDiskUsage(r.dir); err == nil {
		free = usage.AvailBytes
		r.size.Store(usage.TotalBytes)
	} else if !errors.Is(err, vfs.ErrUnsupported) {
		r.log.Warn("free disk space unknown", "directory", r.dir, "err", err)
	}
	r.free.Store(free)
	return free
}

func (r *Room) reserve() string { return r.fs.PathJoin(r.dir, "reserve") }

// spend removes the reserve, and reports whether there was one.
func (r *Room) spend() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fs.Remove(r.reserve()) != nil {
		return false
	}
	r.kept.Store(false)
	r.looked.Store(0)
	r.log.Error("disk full: the reserve is spent", "directory", r.dir, "bytes", r.unit)
	return true
}

// make makes room for a write of Pebble's that found none and is tried again when make returns. All others wait for
// it. Pebble itself would try at once, again and again.
func (r *Room) make() {
	if !r.spend() {
		time.Sleep(fullPause)
	}
}

// Keep writes the reserve whenever it is missing and there is room for it, until ctx ends.
func (r *Room) Keep(ctx context.Context, every time.Duration) {
	Regularly(ctx, every, func() {
		if err := r.restore(); err != nil {
			r.log.Warn("reserve not written", "directory", r.dir, "err", err)
		}
	})
}

// found reports whether the whole reserve is there.
func (r *Room) found() bool {
	info, err := r.fs.Stat(r.reserve())
	return err == nil && uint64(info.Size()) == r.unit
}

func (r *Room) restore() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.found() || r.unit == 0 || r.Free() < 4*r.unit {
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
	r.kept.Store(true)
	return nil
}
