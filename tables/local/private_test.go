package local

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
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

// TestReplacedDirectoryIsLeftUnchanged by the server that has opened the one before, and that server ends.
func TestReplacedDirectoryIsLeftUnchanged(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a directory with open files cannot be moved")
	}
	dir := filepath.Join(t.TempDir(), "data")
	s := must.Have(Open(Config{Dir: dir, Account: wiretest.Account, Key: []byte(wiretest.Key)}))(t)
	client := wiretest.Serve(t, s.Blobs())
	put := func() wiretest.Answer {
		return client.Do("PUT", "/data/large", string(bytes.Repeat([]byte{'x'}, 1<<20)), "x-ms-blob-type", "BlockBlob")
	}
	client.Do("PUT", "/data?restype=container", "")
	put().Want(t, http.StatusCreated, "")
	ctx, stop := context.WithCancelCause(t.Context())
	look := s.fs.(*private).endIfMoved(stop)
	if look(); ctx.Err() != nil {
		t.Fatal(context.Cause(ctx))
	}

	must.Succeed(t, os.Rename(dir, dir+".lost"))
	must.Succeed(t, must.Have(Open(Config{Dir: dir + ".restored"}))(t).Close())
	must.Succeed(t, os.Rename(dir+".restored", dir))
	before := filesIn(t, dir)
	if answer := put(); answer.Status < http.StatusInternalServerError {
		t.Errorf("a blob is answered with %d", answer.Status)
	}
	for name := range before {
		if _, err := s.fs.Create(filepath.Join(dir, name), "test"); err == nil {
			t.Errorf("it overwrites %s", name)
		}
		if s.fs.Remove(filepath.Join(dir, name)) == nil {
			t.Errorf("it removes %s", name)
		}
	}
	if look(); ctx.Err() == nil || !strings.Contains(context.Cause(ctx).Error(), dir+" was moved or replaced") {
		t.Errorf("serving ends with %v", context.Cause(ctx))
	}
	must.Succeed(t, s.Close())
	if after := filesIn(t, dir); !maps.Equal(before, after) {
		t.Errorf("there are %v, and were %v", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}
}

// filesIn returns the contents of the files in a directory.
func filesIn(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	must.Succeed(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			all[must.Have(filepath.Rel(dir, path))(t)] = string(must.Have(os.ReadFile(path))(t))
		}
		return err
	}))
	return all
}
