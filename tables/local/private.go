package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// private is a file system whose new files are for their owner alone. A directory's own permissions may be widened
// later, for a backup program or by mistake; those of its files then still hold.
type private struct{ vfs.FS }

const ownerAlone = 0o600

func (p private) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return restricted(name)(p.FS.Create(name, category))
}

func (p private) OpenReadWrite(name string, category vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return restricted(name)(p.FS.OpenReadWrite(name, category, o...))
}

func (p private) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return restricted(to)(p.FS.ReuseForWrite(from, to, category))
}

// restricted restricts a file that was opened.
func restricted(name string) func(vfs.File, error) (vfs.File, error) {
	return func(f vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return f, err
		}
		if err := os.Chmod(name, ownerAlone); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
}

// restrictAll restricts the files of a database that an earlier version has written.
func restrictAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			err = os.Chmod(path, ownerAlone)
		}
		if errors.Is(err, fs.ErrNotExist) { // the database has just deleted it
			return nil
		}
		return err
	})
}
