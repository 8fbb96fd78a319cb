package local

import (
	"errors"
	"io/fs"
	"path/filepath"

	"furrow/tables/local/internal/store"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A DiskUsage is what is known of the disk of a storage directory, in bytes.
type DiskUsage struct {
	Free    uint64 // for files of any program
	Stored  uint64 // in files of the directory
	Refused uint64 // with fewer free, devices are refused
}

// Disk looks at the disk of a storage directory. It needs no server, and opens no file.
func Disk(dir string) (d DiskUsage, err error) {
	usage, err := vfs.Default.GetDiskUsage(dir)
	if err != nil {
		return d, err
	}
	d.Free, d.Refused = usage.AvailBytes, store.Refused(usage.TotalBytes)
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return gone(err)
		}
		info, err := e.Info()
		if err == nil {
			d.Stored += uint64(info.Size())
		}
		return gone(err)
	})
	return d, err
}

// gone ignores that a file was removed meanwhile.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
