package local

import (
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Lock locks a file, which it creates if there is none, until the process closes it or ends. It returns an error if
// another process has locked it. It is no lock within one process.
func Lock(file string) (io.Closer, error) { return vfs.Default.Lock(file) }
