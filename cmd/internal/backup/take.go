package backup

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"furrow/tables/local"
)

// Take writes a backup to dir, which must not exist or be empty: the files of an archive that storage wrote, and those
// of own, which are names in the storage directory. Storage is empty where another machine has that directory. After an
// error, nothing is left. A process that is killed leaves a directory that is not a complete backup.
func Take(dir string, from io.Reader, storage string, own []string) (m Manifest, err error) {
	undo, err := makeEmpty(dir)
	if err != nil {
		return m, err
	}
	m.Version = version
	var before, after []File
	if before, err = ownFiles(storage, own, sumOf); err == nil {
		err = m.extract(dir, from)
	}
	if err == nil {
		after, err = ownFiles(storage, own, func(name, path string) (File, error) {
			return copyFile(dir, name, path, func(r io.Reader) io.Reader { return r })
		})
	}
	if m.Files = append(m.Files, after...); err == nil && !slices.Equal(before, after) {
		err = errChanged
	}
	if err == nil {
		err = syncFolders(dir)
	}
	if err == nil {
		err = m.write(dir)
	}
	if err != nil {
		return m, errors.Join(fmt.Errorf("backup %s: %w", dir, err), undo())
	}
	return m, local.SyncDir(filepath.Dir(dir))
}

func (m *Manifest) extract(dir string, from io.Reader) error {
	r := tar.NewReader(from)
	for {
		head, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(head.Name) {
			return fmt.Errorf("storage named a file outside of the backup: %q", head.Name)
		}
		file, err := writeFile(dir, head.Name, r)
		if err != nil {
			return err
		}
		m.Taken, m.Files = head.ModTime.UTC(), append(m.Files, file)
	}
	if len(m.Files) == 0 {
		return errors.New("storage sent no files")
	}
	_, err := io.Copy(io.Discard, from) // an error shows that the archive was cut off
	return err
}

// errChanged says that keys may not fit the tables: they open what was sealed before, or after.
var errChanged = errors.New("the master key or a certificate changed meanwhile: take the backup again")

// ownFiles visits the files with these names and in these folders, as far as the storage directory has them.
func ownFiles(storage string, names []string, visit func(name, path string) (File, error)) (all []File, err error) {
	if storage == "" {
		return nil, nil
	}
	for _, name := range names {
		err := filepath.WalkDir(filepath.Join(storage, name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			as, err := filepath.Rel(storage, path)
			if err != nil {
				return err
			}
			file, err := visit(filepath.ToSlash(as), path)
			all = append(all, file)
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return all, err
		}
	}
	return all, nil
}
