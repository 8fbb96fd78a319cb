//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package device

import (
	"errors"
	"os"
	"runtime"
)

// lockFile only opens the file: the caller must ensure that one process uses it.
func lockFile(path string) (*os.File, error) {
	if runtime.GOOS == "windows" {
		return nil, errors.New("a file cannot be replaced while it is open on Windows, which this needs; leave File empty")
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}
