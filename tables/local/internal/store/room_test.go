package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"furrow/tables/local/internal/wire"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A smallDisk is a file system in memory with a capacity in bytes.
type smallDisk struct {
	vfs.FS
	mu       sync.Mutex
	capacity int64
}

func newSmallDisk(capacity int64) *smallDisk { return &smallDisk{FS: vfs.NewMem(), capacity: capacity} }

func (d *smallDisk) used(dir string) (bytes int64) {
	names, err := d.List(dir)
	if err != nil {
		return 0
	}
	for _, name := range names {
		path := d.PathJoin(dir, name)
		info, err := d.Stat(path)
		switch {
		case err != nil: // it was removed meanwhile
		case info.IsDir():
			bytes += d.used(path)
		default:
			bytes += info.Size()
		}
	}
	return bytes
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	total, used := uint64(d.capacity), uint64(d.used(""))
	return vfs.DiskUsage{TotalBytes: total, UsedBytes: used, AvailBytes: total - min(used, total)}, nil
}

func (d *smallDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	return &smallFile{f, d}, err
}

func (d *smallDisk) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(from, to, c)
	return &smallFile{f, d}, err
}

type smallFile struct {
	vfs.File
	disk *smallDisk
}

func (f *smallFile) Write(p []byte) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.used("")+int64(len(p)) > f.disk.capacity {
		return 0, syscall.ENOSPC
	}
	return f.File.Write(p)
}

// must fails the test for any error.
func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func awaitReserve(t *testing.T, disk *smallDisk) {
	t.Helper()
	for range 10_000 {
		if info, err := disk.Stat("data/reserve"); err == nil && info.Size() == disk.capacity/8 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("there is no reserve")
}

func key(i int) []byte { return fmt.Appendf(nil, "key%06d", i) }

// fill writes blocks of 64 KiB that do not compress until there is no room.
func fill(t *testing.T, s *Store, from int, owner bool) (next int) {
	t.Helper()
	block := make([]byte, 64<<10)
	for i := from; ; i++ {
		if err := s.Room.Check(owner); err != nil {
			if !errors.Is(err, wire.ErrFull) {
				t.Fatal(err)
			}
			return i
		}
		rand.Read(block)
		b := s.Batch()
		b.Set(key(i), block)
		must(t, s.Apply(b)())
	}
}

// TestReserveIsForTheProcessThatHasTheDirectory: one that finds it in use does not spend the reserve.
func TestReserveIsForTheProcessThatHasTheDirectory(t *testing.T) {
	disk := newSmallDisk(200 << 20)
	must(t, disk.MkdirAll("data", 0o700))
	s, err := Open(disk, "data/db", 0, slog.New(slog.DiscardHandler))
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	go s.Room.Keep(ctx, time.Millisecond)
	awaitReserve(t, disk)
	stop()
	other, err := disk.Create("other", "another program")
	must(t, err)
	for _, size := range []int{1 << 20, 1 << 10} {
		for err = nil; err == nil; {
			_, err = other.Write(make([]byte, size))
		}
	}
	if _, err := Open(disk, "data/db", 0, slog.New(slog.DiscardHandler)); !errors.Is(err, ErrInUse) {
		t.Errorf("%v, want %v", err, ErrInUse)
	}
	if _, err := disk.Stat("data/reserve"); err != nil {
		t.Errorf("the reserve of the first process is spent: %v", err)
	}
	must(t, disk.Remove("other"))
	must(t, s.Close())
}

// TestAFullDiskRefusesWritesUntilThereIsRoom: what is stored can be read and deleted, the store can be opened again,
// even if another program takes all of the rest, and writing goes on by itself.
func TestAFullDiskRefusesWritesUntilThereIsRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("Pebble fills a disk for half a minute with the race detector")
	}
	disk := newSmallDisk(200 << 20)
	must(t, disk.MkdirAll("data", 0o700))
	open := func() *Store {
		s, err := Open(disk, "data/db", 0, slog.New(slog.DiscardHandler))
		must(t, err)
		return s
	}
	s := open()
	ctx, stop := context.WithCancel(t.Context())
	go s.Room.Keep(ctx, time.Millisecond)
	awaitReserve(t, disk)
	devices := fill(t, s, 0, false)
	workers := fill(t, s, devices, true)
	if devices == 0 || workers-devices < 10 {
		t.Errorf("devices stop after %d blocks, workers after %d", devices, workers)
	}
	stop()
	must(t, s.Close())

	other, err := disk.Create("other", "another program")
	must(t, err)
	block := make([]byte, 1<<10)
	for err == nil {
		_, err = other.Write(block)
	}
	s = open()
	if _, err := disk.Stat("data/reserve"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the reserve is not spent: %v", err)
	}
	ctx, stop = context.WithCancel(t.Context())
	defer stop()
	go s.Room.Keep(ctx, time.Millisecond)
	for i := range workers {
		if value, found, err := s.Get(key(i)); err != nil || !found || len(value) != 64<<10 {
			t.Fatalf("block %d: %d bytes, %v, %v", i, len(value), found, err)
		}
	}
	b := s.Batch()
	b.DeleteRange(key(0), key(workers-1))
	must(t, s.Apply(b)(), other.Close(), disk.Remove("other"))
	for range 600 {
		if s.Room.Check(false) == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	must(t, s.Room.Check(false))
	awaitReserve(t, disk)
	value, found, err := s.Get(key(workers - 1))
	if err != nil || !found || bytes.Equal(value, nil) {
		t.Errorf("the last block: %v, %v", found, err)
	}
	stop()
	must(t, s.Close())
}

// While devices are refused and workers are not, each write would otherwise log a change.
func TestAFullDiskIsLoggedOnce(t *testing.T) {
	disk, log := newSmallDisk(256<<20), &bytes.Buffer{}
	r := newRoom(disk, "", slog.New(slog.NewTextHandler(log, nil)))
	disk.capacity = int64(r.unit + r.unit/2)
	for range 10 {
		r.looked.Store(0)
		if owner, device := r.Check(true), r.Check(false); owner != nil || !errors.Is(device, wire.ErrFull) {
			t.Fatalf("the account key gets %v, a SAS %v", owner, device)
		}
	}
	disk.capacity = 256 << 20
	r.looked.Store(0)
	must(t, r.Check(true), r.Check(false))
	if lines := bytes.Count(log.Bytes(), []byte("\n")); lines != 2 {
		t.Errorf("%d lines are logged; want that it is full, and that it has room again:\n%s", lines, log)
	}
}

// TestWorkersHaveTheReserveWhereOthersFillTheDisk, so that retention can make room.
func TestWorkersHaveTheReserveWhereOthersFillTheDisk(t *testing.T) {
	disk := newSmallDisk(256 << 20)
	r := newRoom(disk, "", slog.New(slog.DiscardHandler))
	must(t, r.restore())
	disk.capacity = int64(r.unit) // others have all but the reserve
	r.looked.Store(0)
	if device := r.Check(false); !errors.Is(device, wire.ErrFull) {
		t.Errorf("a SAS gets %v", device)
	}
	if _, err := disk.Stat(r.reserve()); err != nil {
		t.Errorf("a SAS has taken the reserve: %v", err)
	}
	must(t, r.Check(true))
	disk.capacity = int64(r.unit)/2 - 1
	r.looked.Store(0)
	if owner := r.Check(true); !errors.Is(owner, wire.ErrFull) {
		t.Errorf("workers leave Pebble nothing: %v", owner)
	}
}
