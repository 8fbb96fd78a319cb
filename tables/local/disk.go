package local

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Disk returns how many bytes are free on the disk of a storage directory, and how many the files of the directory
// have. It needs no server, and opens no file.
func Disk(dir string) (free, stored uint64, err error) {
	usage, err := vfs.Default.GetDiskUsage(dir)
	if err != nil {
		return 0, 0, err
	}
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return gone(err)
		}
		info, err := e.Info()
		if err == nil {
			stored += uint64(info.Size())
		}
		return gone(err)
	})
	return usage.AvailBytes, stored, err
}

// gone ignores that a file was removed meanwhile.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
