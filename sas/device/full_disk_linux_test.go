package device

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
)

// smallDisk mounts a disk until the test ends, which only this goroutine sees: a test that is killed leaves nothing.
func smallDisk(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	runtime.LockOSThread() // never unlocked, so that the thread ends with the test
	err := syscall.Unshare(syscall.CLONE_NEWNS)
	if err == nil {
		err = syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	}
	if err == nil {
		err = syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k")
	}
	if err != nil {
		t.Skipf("needs a small disk, which only root can mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// mustFill adds readings until the disk is full, and returns how many were accepted.
func mustFill(t *testing.T, b *buffer) (accepted int) {
	t.Helper()
	for _, size := range []int{1000, 1} {
		for b.add(stamp{}, rowOf(strings.Repeat("x", size)+fmt.Sprint(accepted))) == nil {
			accepted++
		}
	}
	if accepted < 100 || len(b.entries) != accepted {
		t.Errorf("%d readings wait, and %d were accepted", len(b.entries), accepted)
	}
	return accepted
}

// TestReadingsThatFillADiskGetTheirTimes: a device that has booted offline learns the time when its disk is full.
func TestReadingsThatFillADiskGetTheirTimes(t *testing.T) {
	path := filepath.Join(smallDisk(t), "readings")
	b := mustOpen(t, path)
	accepted, zero := mustFill(t, b), time.Now()
	if err := b.anchor(zero, zero, nil); err != nil {
		t.Error(err)
	}
	b.remove(b.next(10)...)
	must.Succeed(t, b.close())
	b = mustOpen(t, path)
	if len(b.entries) != accepted-10 {
		t.Errorf("%d readings wait, want %d without 10", len(b.entries), accepted)
	}
	for _, e := range b.entries {
		if key, known := e.key(); !known || key.Ticks != tables.TicksOf(zero) {
			t.Fatalf("the time of reading %s is %s, known %v", e.id(), key, known)
		}
	}
	must.Succeed(t, b.close())
}

// TestAFileThatFillsItsDiskMakesRoomOnceAllIsSent, also if the device was restarted meanwhile: nobody deletes anything
// there.
func TestAFileThatFillsItsDiskMakesRoomOnceAllIsSent(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		path := filepath.Join(smallDisk(t), "readings")
		b, seen := mustOpen(t, path), time.Now().Round(0).UTC()
		must.Succeed(t, b.anchor(seen, seen, nil))
		accepted := mustFill(t, b)
		if restarted {
			must.Succeed(t, b.close())
			b = mustOpen(t, path)
		}
		if len(b.entries) != accepted {
			t.Errorf("%d readings wait, and %d were accepted", len(b.entries), accepted)
		}
		for len(b.entries) > 0 {
			b.remove(b.next(10)...)
		}
		must.Succeed(t, b.close())
		if b = mustOpen(t, path); !b.boot.After.Equal(seen) {
			t.Errorf("restarted %v: the device has forgotten that %s has passed: %s", restarted, seen, b.boot.After)
		}
		mustAdd(t, b, "new")
		must.Succeed(t, b.anchor(time.Now(), time.Now(), slog.New(slog.DiscardHandler)))
		key, _ := b.entries[0].key()
		must.Succeed(t, b.close())
		b = mustOpen(t, path)
		if again, known := b.entries[0].key(); waits(b) != "new" || !known || again != key {
			t.Errorf("restarted %v: opens with %q, key %s, want %s", restarted, waits(b), again, key)
		}
		must.Succeed(t, b.close())
	}
}
