package backup

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"furrow/tables/local"
)

// Files are restored to a directory with this prefix. The process that fills it holds a lock on a file beside it, whose
// name has the suffix. The system ends the lock of a process that was killed.
const (
	unfinished     = ".restoring-"
	unfinishedLock = ".lock"
)

// makeUnfinished makes a locked directory. done ends the lock.
func makeUnfinished(in string) (dir string, done func() error, err error) {
	dir = filepath.Join(in, unfinished+rand.Text())
	lock, err := local.Lock(dir + unfinishedLock)
	if err != nil {
		return "", nil, err
	}
	done = func() error { return errors.Join(lock.Close(), os.Remove(dir+unfinishedLock)) }
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", nil, errors.Join(err, done())
	}
	return dir, done, nil
}

// removeUnfinished removes what restores have left that were killed.
func removeUnfinished(in string) error {
	all, err := os.ReadDir(in)
	if err != nil {
		return err
	}
	for _, e := range all {
		name := strings.TrimSuffix(e.Name(), unfinishedLock)
		if !strings.HasPrefix(name, unfinished) {
			continue
		}
		dir := filepath.Join(in, name)
		lock, err := local.Lock(dir + unfinishedLock)
		if err != nil {
			continue // a living process has it
		}
		err = errors.Join(os.RemoveAll(dir), lock.Close())
		if errs := os.Remove(dir + unfinishedLock); !errors.Is(errs, fs.ErrNotExist) {
			err = errors.Join(err, errs)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
