package setup

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
)

// A Watched is what some files hold. It reads them again when one has changed. If that fails, it logs the error and
// keeps what it has. It is safe for concurrent use.
type Watched[T any] struct {
	names []string
	read  func() (T, error)
	log   *slog.Logger

	mu    sync.Mutex
	value T
	seen  []os.FileInfo // when the files were read
	said  string        // the error that was logged last
}

// Watch reads files, and fails if that fails.
func Watch[T any](log *slog.Logger, read func() (T, error), names ...string) (*Watched[T], error) {
	w := &Watched[T]{names: names, read: read, log: log}
	return w, w.load()
}

// Get returns what the files hold now.
func (w *Watched[T]) Get() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.load()
	switch {
	case err == nil:
		w.said = ""
	case err.Error() != w.said:
		w.said = err.Error()
		w.log.Warn("changed file unreadable, its former content stays in use", "file", strings.Join(w.names, ", "),
			"error", err)
	}
	return w.value
}

// load reads the files if one has changed since they were read.
func (w *Watched[T]) load() error {
	found := make([]os.FileInfo, len(w.names))
	for i, name := range w.names {
		var err error
		if found[i], err = os.Stat(name); err != nil {
			return err
		}
	}
	if slices.EqualFunc(w.seen, found, unchanged) {
		return nil
	}
	value, err := w.read()
	if err != nil {
		return err
	}
	if w.seen != nil {
		w.log.Info("changed file read", "file", strings.Join(w.names, ", "))
	}
	w.value, w.seen = value, found
	return nil
}

// unchanged reports whether a file is still the same one, with the same time and size.
func unchanged(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
