// Package store stores the records of the three services in one Pebble database, so
// that their writes share one log and one flush to disk.
//
// A write is visible when Apply returns, and durable when its wait function
// returns: only then it is acknowledged. Writes reach the log in the order of
// Apply, so a write is never durable without those that it depends on.
package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrInUse is returned by Open for a directory that another process has open.
var ErrInUse = errors.New("another process has it open")

// A Store is an open database.
type Store struct {
	Clock *Clock
	Room  *Room
	db    *pebble.DB
	lock  *pebble.Lock
	log   *slog.Logger
	// unsynced counts the batches that are visible, or about to be, and not known to
	// be on disk.
	unsynced atomic.Int64
	// deletions counts keys and ranges since the last flush. Pebble does not say how many there are in its memory.
	deletions atomic.Int64
}

// pebbleFormat is the version of Pebble's own files. Opening a database raises it
// to this one, and a program with an older Pebble could not open it any more. So
// it is fixed, and grows only with the directory's format.
const pebbleFormat = pebble.FormatValueSeparation

// defaultCache is the size of the cache, in bytes.
const defaultCache = 24 << 20

// Open opens the database in dir, and creates it if necessary. The cache has so many bytes, or if that is zero its
// default.
func Open(fs vfs.FS, dir string, cached int64, log *slog.Logger) (*Store, error) {
	lock, err := lockDirectory(fs, dir)
	if err != nil {
		return nil, err
	}
	s := &Store{Clock: &Clock{}, Room: newRoom(fs, fs.PathDir(dir), log), lock: lock, log: log}
	if err := s.open(fs, dir, cached); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
}

// lockDirectory locks the directory of the database before anything in it, or beside it, is changed: a process that
// finds it in use has not spent the reserve of the other one.
func lockDirectory(fs vfs.FS, dir string) (*pebble.Lock, error) {
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := pebble.LockDirectory(dir, fs)
	if err == nil {
		return lock, nil
	}
	if errors.Is(err, syscall.EAGAIN) || strings.HasSuffix(err.Error(), "lock held by current process") {
		return nil, fmt.Errorf("%w: %w", ErrInUse, err)
	}
	return nil, err
}

func (s *Store) open(fs vfs.FS, dir string, cached int64) (err error) {
	if err := s.Room.open(); err != nil {
		return err
	}
	cache := pebble.NewCache(cmp.Or(cached, defaultCache))
	defer cache.Unref()
	opts := &pebble.Options{
		FS:                          vfs.OnDiskFull(fs, s.Room.make),
		Lock:                        s.lock,
		Cache:                       cache,
		MemTableSize:                16 << 20,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       24,
		LBaseMaxBytes:               64 << 20,
		FormatMajorVersion:          pebbleFormat,
		Logger:                      logger{s.log},
		EventListener: &pebble.EventListener{
			BackgroundError: s.Room.failed,
			FlushBegin:      func(pebble.FlushInfo) { s.deletions.Store(0) },
			// Reading the damaged rows fails, and all others can be read. Pebble's default ends the process.
			DataCorruption: func(i pebble.DataCorruptionInfo) {
				s.log.Error("a file of the database is damaged: run furrow storage check", "file", i.Path,
					"error", FirstLine(i.Details))
			},
		},
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	// Readings that stay are in the last levels. Zstd makes them a third smaller there than Snappy, and slows no write.
	opts.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionBalanced })
	if s.db, err = openDatabase(dir, opts); pebble.IsCorruptionError(err) {
		return fmt.Errorf("the database is damaged: restore the newest backup: %w", err)
	}
	return err
}

// openDatabase opens a database, and a new one twice. Pebble creates the first log of a database before it raises the
// format, and that log does not record how far it was synced: damage in it would look like its end, and every write
// behind it would be lost in silence.
func openDatabase(dir string, opts *pebble.Options) (*pebble.DB, error) {
	found, err := pebble.Peek(dir, opts.FS)
	old := err == nil && found.FormatMajorVersion >= pebble.FormatWALSyncChunks
	db, err := pebble.Open(dir, opts)
	if err != nil || old {
		return db, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return pebble.Open(dir, opts)
}

// Close flushes and releases the directory.
func (s *Store) Close() error { return errors.Join(s.db.Close(), s.lock.Close()) }

// Size returns the bytes of the database's files.
func (s *Store) Size() uint64 { return s.db.Metrics().DiskSpaceUsage() }

// Get returns a copy of the value of key.
func (s *Store) Get(key []byte) (value []byte, found bool, err error) { return get(s.db, key) }

func get(from pebble.Reader, key []byte) (value []byte, found bool, err error) {
	v, closer, err := from.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	value = bytes.Clone(v)
	return value, true, closer.Close()
}

// GetAll returns the values of keys, nil for a missing one. Looking up many adjacent
// keys costs little more than one: it skips the keys before the next one in the store.
func (s *Store) GetAll(keys [][]byte) (values [][]byte, err error) {
	values = make([][]byte, len(keys))
	if len(keys) == 1 {
		values[0], _, err = s.Get(keys[0])
		return values, err
	}
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return bytes.Compare(keys[i], keys[j]) })
	it, err := s.Iter(keys[order[0]], append(bytes.Clone(keys[order[len(order)-1]]), 0))
	if err != nil {
		return nil, err
	}
	defer it.Close()
	more := it.First()
	for _, i := range order {
		if more && bytes.Compare(it.Key(), keys[i]) < 0 {
			more = it.SeekGE(keys[i])
		}
		if !more {
			break
		}
		if bytes.Equal(it.Key(), keys[i]) {
			if values[i], err = it.ValueAndErr(); err != nil {
				return nil, err
			}
			values[i] = append([]byte{}, values[i]...)
		}
	}
	return values, it.Error()
}

// Iter returns an iterator over the keys in [lower, upper) as they are now. The
// caller closes it.
func (s *Store) Iter(lower, upper []byte) (*pebble.Iterator, error) {
	return s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
}

// A Snapshot is the store at one moment. Holding it costs disk space for what is
// deleted meanwhile, but no memory.
type Snapshot struct{ s *pebble.Snapshot }

// Snapshot takes a snapshot. The caller closes it.
func (s *Store) Snapshot() *Snapshot { return &Snapshot{s.db.NewSnapshot()} }

// Get returns a copy of the value of key.
func (s *Snapshot) Get(key []byte) (value []byte, found bool, err error) { return get(s.s, key) }

// Close releases the snapshot.
func (s *Snapshot) Close() error { return s.s.Close() }

// Apply makes the writes in b visible, all at once. wait waits until they are on
// disk. The caller calls it exactly once, and without locks, so that writers share
// flushes.
func (s *Store) Apply(b *Batch) (wait func() error) {
	if b.err != nil {
		return func() error { return errors.Join(b.err, b.b.Close()) }
	}
	s.deletions.Add(b.deletions)
	s.unsynced.Add(1) // first: whoever sees the batch must see this
	if err := s.db.ApplyNoSyncWait(b.b, pebble.Sync); err != nil {
		b.err = err
		return func() error { return errors.Join(err, b.b.Close()) }
	}
	return func() error {
		if err := b.b.SyncWait(); err != nil {
			return errors.Join(err, b.b.Close())
		}
		s.unsynced.Add(-1)
		return b.b.Close()
	}
}

// Barrier waits until everything that is visible now is on disk. An answer that only
// reports what exists ("it exists already") needs one, because a client may take it
// for an acknowledgement. If nothing waits for the disk, Barrier does nothing, so
// that idle pollers cause no writes.
func (s *Store) Barrier() error {
	if s.unsynced.Load() == 0 {
		return nil
	}
	return s.db.LogData(nil, pebble.Sync)
}

// A Batch collects writes. Apply reports its first error.
type Batch struct {
	b         *pebble.Batch
	deletions int64 // of keys and ranges
	err       error
}

// Batch starts a batch. The caller passes it to Apply or drops it.
func (s *Store) Batch() *Batch { return &Batch{b: s.db.NewBatch()} }

// Set sets the value of a key.
func (b *Batch) Set(key, value []byte) { b.keep(b.b.Set(key, value, nil)) }

// Delete deletes a key, whether it exists or not.
func (b *Batch) Delete(key []byte) { b.deleted(b.b.Delete(key, nil)) }

// DeleteRange deletes the keys in [from, upto).
func (b *Batch) DeleteRange(from, upto []byte) { b.deleted(b.b.DeleteRange(from, upto, nil)) }

func (b *Batch) deleted(err error) {
	b.deletions++
	b.keep(err)
}

// Err returns why a batch could not be collected or applied. It is not visible then.
func (b *Batch) Err() error { return b.err }

// Drop releases a batch that is not applied.
func (b *Batch) Drop() error { return errors.Join(b.err, b.b.Close()) }

func (b *Batch) keep(err error) {
	if b.err == nil {
		b.err = err
	}
}

// FirstLine returns an error without the details that Pebble adds in further lines.
func FirstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// logger receives Pebble's log lines. After an error that leaves the state of the
// log unknown, Pebble ends the process: no write may be acknowledged any more.
type logger struct{ *slog.Logger }

func (l logger) Infof(format string, args ...any)  { l.Debug(fmt.Sprintf(format, args...)) }
func (l logger) Errorf(format string, args ...any) { l.Error(fmt.Sprintf(format, args...)) }
func (l logger) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.Error(text)
	panic("storage: " + text)
}

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
	defer func() { err = errors.Join(err, db.Close()) }()
	for e, err := range copied.Walk([]byte{prefix}, []byte{prefix + 1}) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, append([]byte(nil), e.Key...))
	}
	return keys, nil
}
