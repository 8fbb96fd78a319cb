package backup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"furrow/tables/local"
)

// Restore makes a storage directory from a complete backup. It refuses a directory that has anything in it, and files
// that differ from the manifest. Each file is read through read. prepare is called with the files in a directory of
// another name, before they get theirs; if it fails, nothing is restored.
func Restore(
	from, to string, read func(file io.Reader) io.Reader, prepare func(dir string) error,
) (m Manifest, err error) {
	if m, err = Read(from); err != nil {
		return m, err
	}
	to, err = filepath.Abs(to)
	if err != nil {
		return m, err
	}
	if empty, err := isEmpty(to); err != nil {
		return m, err
	} else if !empty {
		return m, fmt.Errorf("%s exists already, and restoring overwrites nothing: move it away first, or name "+
			"another directory", to)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return m, err
	}
	if err := removeUnfinished(filepath.Dir(to)); err != nil {
		return m, err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) { // such as a disk that is mounted there
		return m, fmt.Errorf("the empty directory cannot be replaced: %w; name one in it, such as %s", err,
			filepath.Join(to, "data"))
	}
	dir, done, err := makeUnfinished(filepath.Dir(to))
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, done()) }()
	if err = m.restore(from, dir, read); err == nil {
		err = prepare(dir)
	}
	if err == nil {
		err = os.Rename(dir, to)
	}
	if err != nil {
		return m, errors.Join(err, os.RemoveAll(dir))
	}
	return m, local.SyncDir(filepath.Dir(to))
}

func (m Manifest) restore(from, dir string, read func(io.Reader) io.Reader) error {
	for _, want := range m.Files {
		name := filepath.FromSlash(want.Name)
		got, err := copyFile(dir, want.Name, filepath.Join(from, name), read)
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("%s is damaged: it differs from what the backup's %s says", filepath.Join(from, name),
				manifestFile)
		}
	}
	return syncFolders(dir)
}
