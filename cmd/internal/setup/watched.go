package setup

import (
	"log/slog"
	"os"
	"sync"
)

// A Watched is what a file holds. It reads the file again when that has changed. If that fails, it logs the error and
// keeps what it has. It is safe for concurrent use.
type Watched[T any] struct {
	name  string
	parse func(content []byte) (T, error)
	log   *slog.Logger

	mu    sync.Mutex
	value T
	seen  os.FileInfo // when the file was read
	said  string      // the error that was logged last
}

// Watch reads a file, and fails if it cannot be read or parsed.
func Watch[T any](name string, log *slog.Logger, parse func(content []byte) (T, error)) (*Watched[T], error) {
	w := &Watched[T]{name: name, parse: parse, log: log}
	return w, w.load()
}

// Get returns what the file holds now.
func (w *Watched[T]) Get() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.load()
	switch {
	case err == nil:
		w.said = ""
	case err.Error() != w.said:
		w.said = err.Error()
		w.log.Warn("changed file unreadable, its former content stays in use", "file", w.name, "error", err)
	}
	return w.value
}

// load reads the file if it has changed since it was read.
func (w *Watched[T]) load() error {
	found, err := os.Stat(w.name)
	if err != nil || w.seen != nil && unchanged(w.seen, found) {
		return err
	}
	content, err := os.ReadFile(w.name)
	if err != nil {
		return err
	}
	value, err := w.parse(content)
	if err != nil {
		return err
	}
	if w.seen != nil {
		w.log.Info("changed file read", "file", w.name)
	}
	w.value, w.seen = value, found
	return nil
}

// unchanged reports whether a file is still the same one, with the same time and size.
func unchanged(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
