package device

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

// TestAFileThatFillsItsDiskMakesRoomOnceAllIsSent, also if the device was restarted meanwhile: nobody deletes anything
// there.
func TestAFileThatFillsItsDiskMakesRoomOnceAllIsSent(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		disk := t.TempDir()
		if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256k"); err != nil {
			t.Skipf("needs a small disk, which only root can mount: %v", err)
		}
		t.Cleanup(func() { must.Succeed(t, syscall.Unmount(disk, 0)) })
		path := filepath.Join(disk, "readings")
		b, accepted := mustOpen(t, path), 0
		fill := func(size int) {
			for b.add(stamp{}, rowOf(strings.Repeat("x", size)+fmt.Sprint(accepted))) == nil {
				accepted++
			}
		}
		fill(1000)
		fill(1)
		if restarted {
			must.Succeed(t, b.close())
			b = mustOpen(t, path)
		}
		if len(b.entries) != accepted || accepted < 100 {
			t.Errorf("%d readings wait, and %d were accepted", len(b.entries), accepted)
		}
		for len(b.entries) > 0 {
			b.remove(b.next(10)...)
		}
		mustAdd(t, b, "new")
		must.Succeed(t, b.anchor(time.Now(), time.Now(), nil))
		key, _ := b.entries[0].key()
		must.Succeed(t, b.close())
		b = mustOpen(t, path)
		if again, known := b.entries[0].key(); waits(b) != "new" || !known || again != key {
			t.Errorf("restarted %v: opens with %q, key %s, want %s", restarted, waits(b), again, key)
		}
		must.Succeed(t, b.close())
	}
}
