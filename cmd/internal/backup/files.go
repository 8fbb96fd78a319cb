package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"furrow/tables/local"
)

// makeEmpty creates dir and its parents, unless it is there, and begins the manifest in it. It refuses a directory that
// has anything in it, and one that another process has begun to fill. undo leaves what was there before.
func makeEmpty(dir string) (undo func() error, err error) {
	_, absent := os.Stat(dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	empty, err := isEmpty(dir)
	if err == nil && empty {
		var begun *os.File
		if begun, err = os.OpenFile(newManifest(dir), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600); err == nil {
			err = begun.Close()
		}
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrExist):
		return nil, err
	case err != nil || !empty:
		return nil, fmt.Errorf("%s exists already, and nothing is overwritten: name another directory, or remove it",
			dir)
	case absent != nil:
		return func() error { return os.RemoveAll(dir) }, nil
	}
	return func() error {
		all, err := os.ReadDir(dir)
		for _, e := range all {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
		return err
	}, nil
}

// isEmpty reports whether nothing is in a directory, or there is none.
func isEmpty(dir string) (bool, error) {
	all, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return len(all) == 0, err
}

// writeFile writes a file of dir durably, and returns what a manifest says about it.
func writeFile(dir, name string, from io.Reader) (File, error) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return File{}, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return File{}, err
	}
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(f, sum), from)
	err = errors.Join(err, f.Sync(), f.Close())
	return File{Name: name, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}

// copyFile copies a file as writeFile writes it, through read.
func copyFile(dir, name, from string, read func(io.Reader) io.Reader) (file File, err error) {
	f, err := os.Open(from)
	if err != nil {
		return File{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return writeFile(dir, name, read(f))
}

// sumOf returns what a manifest says about a file.
func sumOf(name, path string) (File, error) {
	text, err := os.ReadFile(path)
	return File{Name: name, Size: int64(len(text)), SHA256: fmt.Sprintf("%x", sha256.Sum256(text))}, err
}

// syncFolders has the names in a directory, and in the folders in it, on disk.
func syncFolders(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return local.SyncDir(path)
	})
}
