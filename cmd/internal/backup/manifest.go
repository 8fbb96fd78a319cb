package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"furrow/tables/local"
)

// manifestFile is the name of the manifest in a backup.
const manifestFile = "manifest.json"

// version is that of manifests. It grows with every change that an older program would misread.
const version = 1

// A Manifest lists what a complete backup has.
type Manifest struct {
	Version int       `json:"version"`
	Taken   time.Time `json:"taken"` // the backup has every write that was acknowledged before
	Files   []File    `json:"files"`
}

// A File of a backup.
type File struct {
	Name   string `json:"name"` // with slashes
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // in hex
}

// Bytes returns the size of all files.
func (m Manifest) Bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// Has reports whether the backup has a file.
func (m Manifest) Has(name string) bool {
	return slices.ContainsFunc(m.Files, func(f File) bool { return f.Name == name })
}

// ErrIncomplete means that a directory is not a complete backup.
var ErrIncomplete = errors.New("it is not a complete backup")

// Read reads the manifest of a backup. Without one it fails with ErrIncomplete.
func Read(dir string) (m Manifest, err error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if _, none := os.Stat(dir); errors.Is(none, fs.ErrNotExist) {
		return m, fmt.Errorf("%s: there is no such directory", dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%s: %w: it has no %s, which is written last", dir, ErrIncomplete, manifestFile)
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	switch {
	case err != nil:
		return m, fmt.Errorf("%s: %w", filepath.Join(dir, manifestFile), err)
	case m.Version > version:
		return m, fmt.Errorf("%s: the backup has version %d, and this program reads up to %d: restore it with the "+
			"version of furrow that wrote it, or a newer one", dir, m.Version, version)
	case m.Version < 1 || len(m.Files) == 0:
		return m, fmt.Errorf("%s: its %s lists nothing", dir, manifestFile)
	}
	for _, f := range m.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			return m, fmt.Errorf("%s: its %s names a file outside of the backup: %q", dir, manifestFile, f.Name)
		}
	}
	return m, nil
}

// newManifest returns the name of the manifest of an unfinished backup. Whoever creates it fills the directory.
func newManifest(dir string) string { return filepath.Join(dir, manifestFile+".new") }

// write stores the manifest, durably and at once.
func (m Manifest) write(dir string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(newManifest(dir), os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(newManifest(dir), filepath.Join(dir, manifestFile))
	}
	if err == nil {
		err = local.SyncDir(dir)
	}
	return err
}
