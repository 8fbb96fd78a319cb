package device

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// A journal is the file of a buffer. Records are only ever added; when most of
// it is past, what is left moves to a new file. Its methods are for one goroutine at a time,
// save flush and flushed. A nil journal is that of a buffer in memory.
type journal struct {
	path string
	lock *os.File
	file *os.File
	size int64
	grow int64 // how long it may become until it is tried to shrink it

	written atomic.Uint64 // records
	synced  atomic.Uint64 // of them, those on disk
	syncing sync.Mutex    // held while the file is flushed or exchanged
	broken  atomic.Pointer[error]
}

// slack is how much of the file may be past before it is worth a new one.
const slack = 64 << 10

// openJournal opens or makes the file, and reads it.
func openJournal(path string) (j *journal, data []byte, err error) {
	j = &journal{path: path}
	if j.lock, err = lockFile(path + ".lock"); err != nil {
		return nil, nil, err
	}
	if j.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
		data, err = io.ReadAll(j.file)
	}
	if err == nil && len(data) >= len(title) && string(data[:len(title)]) != title {
		err = errors.New("it is not a file of waiting readings")
	}
	if err == nil && len(data) < len(title) { // new, or cut off when it was
		data = []byte(title)
		_, err = j.file.WriteAt(data, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, j.close())
	}
	return j, data, nil
}

// begin goes on after the good part of the file.
func (j *journal) begin(good int64) error {
	j.size = good
	err := j.file.Truncate(good)
	if err == nil {
		err = j.file.Sync()
	}
	if err == nil {
		err = syncDir(filepath.Dir(j.path))
	}
	return err
}

// append writes a record, and gives the ticket for the flush that makes it safe.
func (j *journal) append(payload []byte) (place, uint64, error) {
	if broken := j.broken.Load(); broken != nil {
		return place{}, 0, *broken
	}
	record := appendFrame(nil, payload)
	if _, err := j.file.WriteAt(record, j.size); err != nil {
		if cut := j.file.Truncate(j.size); cut != nil {
			return place{}, 0, j.fail(cut)
		}
		return place{}, 0, fmt.Errorf("it cannot be kept: %w", err)
	}
	at := place{j.size, j.size + int64(len(record))}
	j.size = at.end
	return at, j.written.Add(1), nil
}

// past says that the readings in some parts of the file need not be sent any more.
func (j *journal) past(parts []place) {
	for _, p := range parts {
		if _, _, err := j.append(p.encode()); err != nil {
			return // they will be sent again, and found to be there
		}
	}
}

// flush makes a record safe. Those who ask while a flush is under way share
// the next.
func (j *journal) flush(ticket uint64) error {
	if j == nil {
		return nil
	}
	j.syncing.Lock()
	defer j.syncing.Unlock()
	if j.synced.Load() >= ticket {
		return nil
	}
	if broken := j.broken.Load(); broken != nil {
		return *broken
	}
	upTo := j.written.Load()
	if err := j.file.Sync(); err != nil {
		return j.fail(err)
	}
	j.synced.Store(upTo)
	return nil
}

// flushed tells whether a record is safe.
func (j *journal) flushed(ticket uint64) bool { return j == nil || j.synced.Load() >= ticket }

// fail gives the file up: what is on disk after a flush that failed is unknown,
// and one that succeeds later proves nothing.
func (j *journal) fail(err error) error {
	err = fmt.Errorf("it cannot be kept, nor any other until a new start: %w", err)
	j.broken.CompareAndSwap(nil, &err)
	return *j.broken.Load()
}

// shrink moves what is left to a new file, where that is worth it: image writes
// it, by append, and gives what is to be done when the new file is in place;
// live is about how long it is.
func (j *journal) shrink(live int64, image func() (moved func(), err error)) {
	if j.size < max(2*live+slack, j.grow) || j.broken.Load() != nil {
		return
	}
	j.syncing.Lock()
	defer j.syncing.Unlock()
	old, size := j.file, j.size
	if err := j.exchange(image); err != nil {
		j.file, j.size = old, size
		j.grow = 2 * size // the disk may be full: not at once again
		return
	}
	j.grow = 0
	old.Close()
	j.synced.Store(j.written.Load())
}

func (j *journal) exchange(image func() (func(), error)) (err error) {
	next := j.path + ".new"
	if j.file, err = os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return err
	}
	made := j.file
	j.size = int64(len(title))
	var moved func()
	if _, err = made.WriteAt([]byte(title), 0); err == nil {
		moved, err = image()
	}
	if err == nil {
		err = made.Sync()
	}
	if err == nil {
		err = os.Rename(next, j.path)
	}
	if err != nil {
		return errors.Join(err, made.Close(), os.Remove(next))
	}
	moved()
	if err := syncDir(filepath.Dir(j.path)); err != nil {
		j.fail(err) // which of the two files is there after a power cut is unknown
	}
	return nil
}

func (j *journal) close() error {
	if j == nil {
		return nil
	}
	var err error
	if j.file != nil {
		err = j.file.Close()
	}
	return errors.Join(err, j.lock.Close())
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
