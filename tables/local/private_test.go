package local

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/wiretest"
)

// TestFilesAreForTheirOwnerAlone also if they were not before.
func TestFilesAreForTheirOwnerAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such permissions")
	}
	dir := t.TempDir()
	write := func() {
		s := must.Have(Open(Config{Dir: dir, Account: wiretest.Account, Key: []byte(wiretest.Key)}))(t)
		client := wiretest.Serve(t, s.Blobs())
		client.Do("PUT", "/data?restype=container", "")
		client.Do("PUT", "/data/large", string(bytes.Repeat([]byte{'x'}, 1<<20)), "x-ms-blob-type", "BlockBlob").
			Want(t, http.StatusCreated, "")
		must.Succeed(t, s.Close())
	}
	checked := func() (n int) {
		must.Succeed(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			must.Succeed(t, err)
			info := must.Have(d.Info())(t)
			if n++; info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s is %v", path, info.Mode())
			}
			return nil
		}))
		return n
	}
	write()
	if n := checked(); n < 8 {
		t.Errorf("%d files", n)
	}
	for _, file := range must.Have(filepath.Glob(filepath.Join(dir, "db", "*")))(t) {
		must.Succeed(t, os.Chmod(file, 0o644))
	}
	write()
	checked()
}
