package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// prefix begins the names of the backups in a folder of many; the time follows.
const prefix = "furrow-"

// Name returns the name of a backup in a folder of many.
func Name(at time.Time) string { return prefix + at.UTC().Format("20060102T150405Z") }

// List returns when the complete backups of a folder were taken, the oldest first, and the names of those that were
// begun and never completed. A backup whose name is later than now was written under another clock: it comes before all
// others, as any backup that is written now is newer.
func List(folder string, now time.Time) (complete []time.Time, begun []string, err error) {
	var past []time.Time
	all, err := os.ReadDir(folder) // in the order of names, which is that of times
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	for _, d := range all {
		at, err := time.Parse(prefix+"20060102T150405Z", d.Name())
		if err != nil || !d.IsDir() || !strings.HasPrefix(d.Name(), prefix) {
			continue
		}
		switch _, err := Read(filepath.Join(folder, d.Name())); {
		case errors.Is(err, ErrIncomplete):
			begun = append(begun, d.Name())
		case err == nil && at.After(now):
			complete = append(complete, at)
		case err == nil:
			past = append(past, at)
		}
	}
	return append(complete, past...), begun, nil
}

// Prune removes the oldest complete backups of a folder until keep are left, and those that were never completed. No
// backup may be being written.
func Prune(folder string, keep int, now time.Time) error {
	complete, begun, err := List(folder, now)
	if err != nil {
		return err
	}
	for _, at := range complete[:max(0, len(complete)-keep)] {
		begun = append(begun, Name(at))
	}
	for _, name := range begun {
		// Without its manifest, what is left after a crash is removed the next time.
		err = errors.Join(err, removeFirst(filepath.Join(folder, name), manifestFile))
	}
	return err
}

// removeFirst removes a directory, one of its files before all others.
func removeFirst(dir, file string) error {
	if err := os.Remove(filepath.Join(dir, file)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(dir)
}
