package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// private is a file system whose new files are for their owner alone. A directory's own permissions may be widened
// later, for a backup program or by mistake; those of its files then still hold.
//
// It changes no file once the directory was moved: another one may have its name, such as a restored backup.
type private struct {
	vfs.FS
	dir string
	was os.FileInfo // of the directory that was opened
}

const ownerAlone = 0o600

// moved returns an error if the directory that was opened no longer has its name.
func (p *private) moved() error {
	is, err := os.Stat(p.dir)
	if err == nil && os.SameFile(is, p.was) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("storage directory %s was moved or replaced while it was served, so nothing more is written "+
		"there: what was stored before is in the directory that was moved", p.dir)
}

// endIfMoved returns a function that calls stop if the directory was moved.
func (p *private) endIfMoved(stop context.CancelCauseFunc) func() {
	return func() {
		if err := p.moved(); err != nil {
			stop(err)
		}
	}
}

func (p *private) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := p.moved(); err != nil {
		return nil, err
	}
	return restricted(name)(p.FS.Create(name, category))
}

func (p *private) OpenReadWrite(name string, category vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	if err := p.moved(); err != nil {
		return nil, err
	}
	return restricted(name)(p.FS.OpenReadWrite(name, category, o...))
}

func (p *private) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := p.moved(); err != nil {
		return nil, err
	}
	return restricted(to)(p.FS.ReuseForWrite(from, to, category))
}

func (p *private) Rename(from, to string) error {
	if err := p.moved(); err != nil {
		return err
	}
	return p.FS.Rename(from, to)
}

func (p *private) Remove(name string) error {
	if err := p.moved(); err != nil {
		return err
	}
	return p.FS.Remove(name)
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
