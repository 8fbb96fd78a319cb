package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// checkPrivate returns an error if users other than the owner of a data directory can use it: it holds keys and
// readings. An empty directory becomes private.
func checkPrivate(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() || runtime.GOOS == "windows" { // no such modes
		return nil
	}
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		if err = os.Chmod(dir, 0o700); err == nil {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("users other than its owner can use the data directory %s (mode %04o), and it holds "+
		"keys: chmod 700 %s", dir, info.Mode().Perm(), quoted(dir)), err)
}
