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

// A buffer holds the readings that wait, in the order of their acceptance.
type buffer struct {
	max  int64         // bytes
	wake chan struct{} // has one when there may be something new to send

	mu      sync.Mutex
	device  string
	boot    *boot // this one
	boots   []*boot
	entries []*entry
	bytes   int64
	added   uint64
	changed chan struct{} // closed when entries have left
	journal *journal      // nil: in memory only
	closed  bool
}

// An entry is a reading that waits.
type entry struct {
	stamp
	boot   *boot
	seq    uint64 // within its boot, from 1
	body   []byte // its values as a JSON object
	n      uint64 // since Open
	place  place  // in the file
	ticket uint64 // of the flush that it needs
	taken  bool   // it is being sent: not to be dropped
	tried  bool   // a request may have had it
}

// A boot is a run of the client: whatever was stamped by one monotonic clock.
type boot struct {
	nonce string    // part of its readings' keys
	wall  time.Time // what the device's clock said when it began
	after time.Time // a time that was past already; zero: unknown
	zero  time.Time // the right time when it began; zero: not known
	seen  time.Time // the time when that was learnt
}

// overhead is what an entry takes besides its body: memory, and a record's head
// in the file.
const overhead = 64

func (e *entry) size() int64 { return int64(len(e.body)) + overhead }

// suffix tells the readings of one device apart, whatever their ticks: by boot
// and number.
func suffix(nonce string, seq uint64) string { return fmt.Sprintf("%s.%08x", nonce, seq) }

func newNonce() string {
	var b [5]byte
	rand.Read(b[:]) // never fails
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))
}

// add accepts a reading, and returns when it is safe.
func (b *buffer) add(s stamp, body []byte) error {
	e, err := b.append(s, body)
	if err != nil {
		return err
	}
	if err := b.journal.flush(e.ticket); err != nil {
		b.remove(e) // it was not accepted
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
		return nil, fmt.Errorf("it takes %d bytes of a buffer that has %d", e.size(), b.max)
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

// oldest takes the oldest entries whose place a reading of that many bytes
// needs: none where all that waits is being sent.
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

// ready tells whether next would give anything.
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

// next are the first entries, within limits but at least one, for a request. They
// are none while nothing waits.
func (b *buffer) next(rows int, bytes int64) (batch []*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		if e.taken {
			continue // it is about to be dropped
		}
		if bytes -= e.size(); len(batch) == rows || len(batch) > 0 && bytes < 0 || !b.journal.flushed(e.ticket) {
			break
		}
		e.taken = true
		batch = append(batch, e)
	}
	return batch
}

// release gives back what next gave.
func (b *buffer) release(batch []*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range batch {
		e.taken = false
	}
}

// remove takes entries out: they are stored or reported.
func (b *buffer) remove(gone ...*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leave(gone)
}

// leave takes entries out and enters that in the file. It need not be flushed: what
// it says is found out again by sending them.
func (b *buffer) leave(gone []*entry) {
	out := make(map[*entry]bool, len(gone))
	for _, e := range gone {
		out[e] = true
	}
	var past []place // runs of them
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
		b.journal.past(past)
		b.journal.shrink(b.bytes, b.image)
	}
}

func (b *buffer) mark() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.added
}

// waiting is how many wait of those added up to upTo, and what is closed when
// that has changed.
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

func (b *buffer) waits() (n, bytes int64) {
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
