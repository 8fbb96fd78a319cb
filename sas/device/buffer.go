package device

import (
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// A buffer holds the readings that wait to be sent, in the order of acceptance.
type buffer struct {
	max  int64         // bytes
	wake chan struct{} // holds a value when there may be something new to send

	mu      sync.Mutex
	device  string
	boot    *boot // the current one
	boots   []*boot
	entries []*entry
	bytes   int64
	added   uint64
	changed chan struct{} // closed when entries were removed
	journal *journal      // nil: in memory only
	closed  bool
}

// An entry is a waiting reading.
type entry struct {
	stamp
	boot   *boot
	seq    uint64 // in its boot, from 1
	body   []byte // its values as a JSON object
	n      uint64 // since Open
	place  place  // its part of the file
	ticket uint64 // of the flush that makes it durable
	taken  bool   // being sent, so it must not be dropped
	tried  bool   // was part of a request, which storage may have received
}

// A boot is one run of the client: all readings that were stamped by one monotonic clock.
type boot struct {
	nonce string    // part of its readings' keys
	wall  time.Time // the device's own clock at its start
	after time.Time // a time that had already passed; zero: unknown
	zero  time.Time // the server's time at its start; zero: not known
	seen  time.Time // the time when that was learnt
}

// overhead is the size of an entry besides its body, in memory and as a record's header.
const overhead = 64

func (e *entry) size() int64 { return int64(len(e.body)) + overhead }

// suffix makes the row keys of a device unique, whatever their ticks: by boot and number.
func suffix(nonce string, seq uint64) string { return fmt.Sprintf("%s.%08x", nonce, seq) }

func newNonce() string {
	var b [5]byte
	rand.Read(b[:]) // never fails
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// add accepts a reading and returns when it is durable.
func (b *buffer) add(s stamp, body []byte) error {
	e, err := b.append(s, body)
	if err != nil {
		return err
	}
	if err := b.journal.flush(e.ticket); err != nil {
		b.remove(e) // it is not accepted
		return err
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return nil
}

func (b *buffer) append(s stamp, body []byte) (*entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := &entry{stamp: s, boot: b.boot, seq: b.added + 1, body: body, n: b.added + 1}
	switch {
	case b.closed:
		return nil, ErrClosed
	case e.size() > b.max:
		return nil, fmt.Errorf("it needs %d bytes, and the buffer has only %d", e.size(), b.max)
	case b.bytes+e.size() > b.max:
		return nil, ErrFull
	}
	if b.journal != nil {
		var err error
		if e.place, e.ticket, err = b.journal.append(e.record()); err != nil {
			return nil, err
		}
	}
	b.added++
	b.entries = append(b.entries, e)
	b.bytes += e.size()
	return e, nil
}

// oldest takes as many of the oldest entries as must go to make room for a reading with a
// body of that many bytes. It returns none if all entries are being sent.
func (b *buffer) oldest(body int) (old []*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	need := b.bytes + int64(body) + overhead - b.max
	for _, e := range b.entries {
		if need > 0 && !e.taken && b.journal.flushed(e.ticket) {
			e.taken = true
			old = append(old, e)
			need -= e.size()
		}
	}
	return old
}

// ready reports whether next would return anything.
func (b *buffer) ready() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		if !e.taken {
			return b.journal.flushed(e.ticket)
		}
	}
	return false
}

// next takes the first entries for a request: as many as fit the limits, but at least one
// if any is durable.
func (b *buffer) next(rows int, bytes int64) (batch []*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		if e.taken {
			continue // about to be dropped
		}
		if bytes -= e.size(); len(batch) == rows || len(batch) > 0 && bytes < 0 || !b.journal.flushed(e.ticket) {
			break
		}
		e.taken = true
		batch = append(batch, e)
	}
	return batch
}

// release returns entries that next took.
func (b *buffer) release(batch []*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range batch {
		e.taken = false
	}
}

// remove removes entries that are stored or reported.
func (b *buffer) remove(gone ...*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// The journal need not be flushed: an entry that is sent again turns out to be stored.
	out := make(map[*entry]bool, len(gone))
	for _, e := range gone {
		out[e] = true
	}
	var past []place // merged where they adjoin
	last := -2
	for i, e := range b.entries {
		if !out[e] {
			continue
		}
		b.bytes -= e.size()
		if last == i-1 {
			past[len(past)-1].end = e.place.end
		} else {
			past = append(past, e.place)
		}
		last = i
	}
	b.entries = slices.DeleteFunc(b.entries, func(e *entry) bool { return out[e] })
	close(b.changed)
	b.changed = make(chan struct{})
	if b.journal != nil {
		b.journal.markDone(past)
		b.journal.shrink(b.bytes, b.image)
	}
}

func (b *buffer) mark() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.added
}

// waiting counts the waiting entries among the first upTo, and returns a channel that is
// closed when any are removed.
func (b *buffer) waiting(upTo uint64) (n int, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		if e.n <= upTo {
			n++
		}
	}
	return n, b.changed
}

func (b *buffer) usage() (n, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(len(b.entries)), b.bytes
}

func (b *buffer) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	return b.journal.close()
}
