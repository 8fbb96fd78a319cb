//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package device

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks the file until it is closed or the process ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, errors.New("another process has it open; give each process its own file")
	}
	return f, nil
}
