package main

import (
	"errors"
	"fmt"
	"syscall"

	"furrow/tables/local"
)

// listenAdvice adds advice to errors of listening on the address of a flag.
func listenAdvice(err error, flag string) error {
	return advise(err, map[error]string{
		syscall.EADDRINUSE:    "another program listens there: stop it, or choose another port with " + flag,
		syscall.EADDRNOTAVAIL: "this machine does not have that address: choose another with " + flag,
		syscall.EACCES:        "this user may not listen there: choose a port above 1023 with " + flag,
	})
}

// storageAdvice adds advice to errors of serving storage, for the flags of the directory and the address.
func storageAdvice(err error, data, listen string) error {
	return advise(err, map[error]string{
		syscall.EADDRINUSE:    "another program listens there: stop it, or choose three other ports with " + listen,
		syscall.EADDRNOTAVAIL: "this machine does not have that address: choose another with " + listen,
		syscall.EACCES: "permission denied: choose another directory with " + data + ", or ports above 1023 with " +
			listen,
		local.ErrInUse:  "another process serves it: stop that one, or choose another directory with " + data,
		local.ErrNewer:  "run that version, or choose another directory with " + data,
		syscall.ENOTDIR: "that is a file: choose another directory with " + data,
		syscall.EROFS:   "the file system is read-only: choose another directory with " + data,
		syscall.ENOSPC:  "the disk is full: free some space, or choose another directory with " + data,
	})
}

// advise adds the advice for the cause of an error.
func advise(err error, advice map[error]string) error {
	for cause, text := range advice {
		if errors.Is(err, cause) {
			return fmt.Errorf("%w (%s)", err, text)
		}
	}
	return err
}
