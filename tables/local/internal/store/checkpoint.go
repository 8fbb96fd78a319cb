package store

import (
	"errors"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Checkpoint writes a copy of the database to dir, which must not exist, with everything that is visible now. Files
// that never change are linked, so that it takes little time and space.
func (s *Store) Checkpoint(dir string) error { return s.db.Checkpoint(dir, pebble.WithFlushedWAL()) }

// Keys returns the keys with the prefix in a copy that Checkpoint wrote, which it does not change.
func Keys(fs vfs.FS, dir string, prefix byte, log *slog.Logger) (keys [][]byte, err error) {
	db, err := pebble.Open(dir, &pebble.Options{FS: fs, ReadOnly: true, Logger: logger{log}})
	if err != nil {
		return nil, err
	}
	copied := &Store{db: db}
	defer func() { err = errors.Join(err, copied.Close()) }()
	for e, err := range copied.Walk([]byte{prefix}, []byte{prefix + 1}) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, append([]byte(nil), e.Key...))
	}
	return keys, nil
}
