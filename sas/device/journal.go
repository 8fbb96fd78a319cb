package device

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

// A journal is the append-only file of a buffer. When most of its records are obsolete, the
// others move to a new file. Only flush and flushed are safe for concurrent use. A nil
// journal belongs to a buffer in memory.
type journal struct {
	path, title string
	lock, file  *os.File
	size        int64
	grow        int64 // size at which to try again to shrink it; zero: that has not failed
	begun       bool  // it has the record of the current boot
	room        int64 // size with the zeros at its end

	written atomic.Uint64 // records
	synced  atomic.Uint64 // records on disk
	syncing sync.Mutex    // held while the file is flushed or replaced
	broken  atomic.Pointer[error]
}

// slack is how many obsolete bytes are tolerated before the file is rewritten.
const slack = 64 << 10

// reserve is how many zeros are behind a reading: on a full disk, records that concern it take their place. Otherwise
// a reading without a time could not get one, which has to be saved first, and none would ever be sent.
const reserve = 4 << 10

// openJournal opens or creates a device's file, reads it, and truncates it to its good part.
func openJournal(path, device string) (j *journal, found []record, damage []Report, err error) {
	j = &journal{path: path, title: title(device)}
	if j.lock, err = lockFile(path + ".lock"); err != nil {
		return nil, nil, nil, err
	}
	var data []byte
	if j.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err == nil {
		data, err = io.ReadAll(j.file)
	}
	if err == nil && strings.HasPrefix(j.title, strings.TrimRight(string(data), "\x00")) { // new, or cut off while new
		data = []byte(j.title)
		_, err = j.file.WriteAt(data, 0)
	}
	if err == nil {
		err = j.checkTitle(data)
	}
	if err == nil {
		found, damage, j.size = scan(data)
		j.room, err = j.size, j.file.Truncate(j.size)
	}
	if err == nil {
		err = errors.Join(j.file.Sync(), syncDir(filepath.Dir(path)))
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, j.close())
	}
	return j, found, damage, nil
}

func (j *journal) checkTitle(data []byte) error {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	other, ours := strings.CutPrefix(string(first), strings.TrimSuffix(title(""), "\n"))
	switch {
	case !ours:
		return errors.New("not a file of waiting readings")
	case title(other) != j.title:
		return fmt.Errorf("it holds readings of device %q; give each device its own file", other)
	}
	return nil
}

// append writes a record and returns the ticket of the flush that makes it durable.
func (j *journal) append(r record) (ticket uint64, err error) {
	if broken := j.broken.Load(); broken != nil {
		return 0, *broken
	}
	line, err := r.encode()
	if err != nil {
		return 0, err
	}
	end, room := j.size+int64(len(line)), j.room
	if r.Reading != nil && end+reserve > room {
		room = end + 2*reserve // not for each reading
		_, err = j.file.WriteAt(make([]byte, room-j.room), j.room)
	}
	good := j.room
	if err == nil {
		good = j.size
		_, err = j.file.WriteAt(line, j.size)
	}
	if err != nil {
		if cut := j.file.Truncate(good); cut != nil {
			return 0, j.fail(cut)
		}
		j.room = good
		return 0, fmt.Errorf("the reading cannot be saved: %w", err)
	}
	j.size, j.room = end, max(room, end)
	j.begun = j.begun || r.Boot != nil
	return j.written.Add(1), nil
}

// flush makes a record durable. Callers that arrive during a flush share the next one.
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

// flushed reports whether a record is durable.
func (j *journal) flushed(ticket uint64) bool { return j == nil || j.synced.Load() >= ticket }

// fail makes the journal refuse everything: after a failed fsync the content of the disk is
// unknown, and a later fsync that succeeds proves nothing.
func (j *journal) fail(err error) error {
	err = fmt.Errorf("readings cannot be saved until the client is opened again: %w", err)
	j.broken.CompareAndSwap(nil, &err)
	return *j.broken.Load()
}

// shrink replaces the file if enough of it is obsolete. image returns the live records, and live
// is their approximate size.
func (j *journal) shrink(live int64, image func() []record) {
	again := live == 0 && j.grow > 0
	if j.size < max(2*live+slack, j.grow) && !again || j.broken.Load() != nil {
		return
	}
	j.syncing.Lock()
	defer j.syncing.Unlock()
	old, size, begun, room := j.file, j.size, j.begun, j.room
	if err := j.replace(image()); err == nil {
		old.Close()
	} else {
		j.file, j.size, j.begun, j.room = old, size, begun, room
		if live > 0 || j.empty() != nil {
			j.grow = 2 * size // the disk may be full: do not try again until all is sent, or soon
			return
		}
	}
	j.grow = 0
	j.synced.Store(j.written.Load())
}

// empty cuts the file off after its title, which needs no room for another one: the file itself may fill the disk.
func (j *journal) empty() error {
	if err := j.file.Truncate(int64(len(j.title))); err != nil {
		return err
	}
	j.size, j.room, j.begun = int64(len(j.title)), int64(len(j.title)), false
	if err := j.file.Sync(); err != nil {
		return j.fail(err)
	}
	return nil
}

func (j *journal) replace(live []record) (err error) {
	next := j.path + ".new"
	if j.file, err = os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return err
	}
	created := j.file
	j.size, j.room = int64(len(j.title)), int64(len(j.title))
	_, err = created.WriteAt([]byte(j.title), 0)
	for i := 0; i < len(live) && err == nil; i++ {
		_, err = j.append(live[i])
	}
	if err == nil {
		err = created.Sync()
	}
	if err == nil {
		err = os.Rename(next, j.path)
	}
	if err != nil {
		return errors.Join(err, created.Close(), os.Remove(next))
	}
	if err := syncDir(filepath.Dir(j.path)); err != nil {
		j.fail(err) // after a power cut, either file may be there
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
