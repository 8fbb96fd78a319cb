package local

import (
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
