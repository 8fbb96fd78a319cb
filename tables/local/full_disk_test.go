package local

import (
	"bytes"
	"io"
	"net/http"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/wire"
	"furrow/tables/local/internal/wiretest"
)

// A smallDisk says how much of it is free.
type smallDisk struct {
	vfs.FS
	free atomic.Uint64
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free.Load(), TotalBytes: 200 << 20, UsedBytes: 200<<20 - d.free.Load()}, nil
}

// TestWhatExistsIsFoundOnAFullDisk, by requests that create it if it does not exist, as each start of furrow sends.
func TestWhatExistsIsFoundOnAFullDisk(t *testing.T) {
	disk := &smallDisk{FS: vfs.NewMem()}
	disk.free.Store(150 << 20)
	dir := t.TempDir()
	for _, full := range []bool{false, true} {
		if full {
			disk.free.Store(4 << 20)
		}
		s := must.Have(openOn(disk, Config{Dir: dir, Account: wiretest.Account, Key: []byte(wiretest.Key)}))(t)
		blobs, queues := wiretest.Serve(t, s.Blobs()), wiretest.Serve(t, s.Queues())
		if free, size, _, _ := s.Usage(); free != disk.free.Load() || size != 200<<20 {
			t.Errorf("%d bytes of %d are free", free, size)
		}
		if said := blobs.Do("GET", "/?comp=list", "").Header.Get(FullHeader) != ""; said != full {
			t.Errorf("on a full disk %v, answers say %v", full, said)
		}
		create := func(name string, blob, queue, table int) {
			t.Helper()
			got := []int{blobs.Do("PUT", "/"+name+"?restype=container", "").Status, queues.Do("PUT", "/"+name, "").Status, 0}
			if err := s.table.Add(name); err != nil {
				got[2] = wire.AsError(err).Status
			}
			if want := []int{blob, queue, table}; !slices.Equal(got, want) {
				t.Errorf("%s, on a full disk %v: %v, want %v", name, full, got, want)
			}
		}
		if full {
			create("old", 409, 204, 409)
			create("new", 507, 507, 507)
		} else {
			create("old", 201, 201, 0)
		}
		must.Succeed(t, s.Close())
	}
}

// TestAnUploadEndsWhereThereIsNoRoom, although there was when it began: a SAS leaves room for the account key, which
// leaves some for the database. A block may have 4 GB.
func TestAnUploadEndsWhereThereIsNoRoom(t *testing.T) {
	disk := &smallDisk{FS: vfs.NewMem()}
	disk.free.Store(150 << 20)
	s := must.Have(openOn(disk, Config{Dir: t.TempDir(), Account: wiretest.Account, Key: []byte(wiretest.Key)}))(t)
	defer func() { must.Succeed(t, s.Close()) }()
	blobs := wiretest.Serve(t, s.Blobs())
	blobs.Do("PUT", "/full?restype=container", "").Want(t, http.StatusCreated, "")
	token := "&" + wiretest.SAS(wire.Blob, "full", "sp", "cwa", "se", wiretest.Expiry, "sr", "c").Encode()
	becomes := func(free uint64) {
		for disk.free.Store(free); s.store.Room.Free() != free; {
			runtime.Gosched()
		}
	}
	upload := func(path, token string, left uint64, headers ...string) wiretest.Answer {
		becomes(150 << 20)
		body := make([]byte, 4<<20)
		first := bytes.NewReader(body[:1<<20])
		r := blobs.Request("PUT", path+token, io.MultiReader(first, &then{do: func() { becomes(left) }},
			bytes.NewReader(body[first.Len():])), headers...)
		if r.ContentLength = int64(len(body)); token == "" {
			blobs.Sign(r)
		}
		return blobs.Send(r)
	}
	put := []string{"x-ms-blob-type", "BlockBlob"}
	blobs.Do("PUT", "/full/log", "", "x-ms-blob-type", "AppendBlob").Want(t, http.StatusCreated, "")
	for _, c := range []struct {
		path, token string
		left        uint64
		status      int
		headers     []string
	}{
		{"/full/a?x=", token, 40 << 20, http.StatusInsufficientStorage, put},
		{"/full/a?comp=block&blockid=MDAx", token, 40 << 20, http.StatusInsufficientStorage, nil},
		{"/full/log?comp=appendblock", token, 40 << 20, http.StatusInsufficientStorage, nil},
		{"/full/a", "", 40 << 20, http.StatusCreated, put},
		{"/full/b", "", 5 << 20, http.StatusInsufficientStorage, put},
	} {
		if got := upload(c.path, c.token, c.left, c.headers...); got.Status != c.status {
			t.Errorf("PUT %s, with %d MiB left: %d %s, want %d", c.path, c.left>>20, got.Status, got.Body, c.status)
		}
	}
	if files := must.Have(disk.List(s.fs.PathJoin(s.config.Dir, "blobs")))(t); len(files) != 1 {
		t.Errorf("there are %d files of blobs", len(files))
	}
}

// A then is an empty reader that does something when it is read.
type then struct{ do func() }

func (r *then) Read([]byte) (int, error) {
	r.do()
	return 0, io.EOF
}
