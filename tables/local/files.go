package local

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// WriteSecret writes a file for its owner alone, in place of one of that name. Whoever reads it at any moment, also
// after a power cut and beside another writer, finds all of one text.
func WriteSecret(name, text string) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDir(filepath.Dir(name))
}

// SyncDir has the names of the files in a directory on disk. Windows, which has no such call, needs none.
func SyncDir(dir string) error {
	d, err := vfs.Default.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// makeDir creates dir durably: after a power cut it still exists, with its content.
func makeDir(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(filepath.Clean(dir)))
}
