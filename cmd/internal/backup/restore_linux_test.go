package backup

import (
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"furrow/tables/azuretest/must"
)

// TestRestoreToAMountedDiskFailsBeforeItReads, and says where to restore to.
func TestRestoreToAMountedDiskFailsBeforeItReads(t *testing.T) {
	dir, _ := take(t)
	to := t.TempDir()
	runtime.LockOSThread() // never unlocked, so that the thread ends with the test, and the mount with it
	err := syscall.Unshare(syscall.CLONE_NEWNS)
	if err == nil {
		err = syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	}
	if err == nil {
		err = syscall.Mount("tmpfs", to, "tmpfs", 0, "size=256k")
	}
	if err != nil {
		t.Skipf("needs a disk, which only root can mount: %v", err)
	}
	read := func(r io.Reader) io.Reader {
		t.Error("it reads the backup")
		return r
	}
	_, err = Restore(dir, to, read, noPreparation)
	if err == nil || !strings.Contains(err.Error(), "name one in it, such as "+to+"/data") {
		t.Error(err)
	}
	must.Have(Restore(dir, filepath.Join(to, "data"), asItIs, noPreparation))(t)
	must.Succeed(t, syscall.Unmount(to, 0))
}
