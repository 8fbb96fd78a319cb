package device

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A buffer holds the readings that wait to be sent, in the order of acceptance.
type buffer struct {
	max  int64         // bytes
	wake chan struct{} // holds a value when there may be something new to send

	mu      sync.Mutex
	boot    *boot // the current one
	boots   []*boot
	entries []*entry
	bytes   int64
	added   uint64
	changed chan struct{} // closed when entries were removed
	journal *journal      // nil: in memory only
	closed  bool
}

// An entry is a waiting reading. The exported fields are saved in the file.
type entry struct {
	stamp
	Boot string        `json:"boot"` // nonce of its boot
	Seq  uint64        `json:"seq"`  // in its boot, from 1
	Row  tables.Entity `json:"row"`  // without its final row key

	boot   *boot
	n      uint64 // since Open
	ticket uint64 // of the flush that makes it durable
	tried  bool   // was part of a request, which storage may have received
}

// acknowledges reports whether the entry acknowledges a command.
func (e *entry) acknowledges() bool { return isAck(e.Row) }

func isAck(row tables.Entity) bool { return row.Get(schema.AckProperty).Text() != "" }

// id makes the row keys of a device unique, whatever their ticks: by boot and number.
func (e *entry) id() string { return schema.Number{Boot: e.Boot, N: e.Seq}.String() }

// overhead is the approximate size of an entry besides its row.
const overhead = 64

func (e *entry) size() int64 { return int64(e.Row.Size()) + overhead }

// openBuffer opens the buffer for a new boot that starts when the device's clock shows wall.
func openBuffer(c Config, wall time.Time) (b *buffer, damage []Report, err error) {
	b = &buffer{max: c.MaxBytes, wake: make(chan struct{}, 1), changed: make(chan struct{})}
	b.boot = &boot{Nonce: strings.ToLower(rand.Text()[:8]), Wall: wall.UTC()}
	if c.File == "" {
		b.boots = []*boot{b.boot}
		return b, nil, nil
	}
	var found []record
	if b.journal, found, damage, err = openJournal(c.File, string(c.Device)); err != nil {
		return nil, nil, fmt.Errorf("file %s: %w", c.File, err)
	}
	b.load(found)
	for _, o := range b.boots {
		b.boot.After = latest(b.boot.After, o.After, o.Zero, o.Seen)
	}
	b.boots = append(b.boots, b.boot)
	b.journal.shrink(b.bytes, b.image)
	if err = b.begin(); err == nil {
		err = b.journal.flush(b.journal.written.Load())
	} else if len(b.entries) > 0 { // the disk may be full: what waits can be sent, and nothing else is accepted
		err = nil
	}
	if err != nil {
		b.journal.close()
		return nil, nil, fmt.Errorf("file %s: %w", c.File, err)
	}
	return b, damage, nil
}

// begin saves the current boot, on which the times of its readings depend, unless the file has it.
func (b *buffer) begin() error {
	if b.journal.begun {
		return nil
	}
	_, err := b.journal.append(record{Boot: b.boot})
	return err
}

// load fills the buffer with the waiting readings of a file.
func (b *buffer) load(found []record) {
	boots := map[string]*boot{}
	done := map[string]bool{}
	of := func(nonce string) *boot {
		if boots[nonce] == nil {
			boots[nonce] = &boot{Nonce: nonce}
			b.boots = append(b.boots, boots[nonce])
		}
		return boots[nonce]
	}
	for _, r := range found {
		switch {
		case r.Boot != nil:
			of(r.Boot.Nonce).learn(*r.Boot)
		case r.Reading != nil:
			r.Reading.boot, r.Reading.tried = of(r.Reading.Boot), true
			b.entries = append(b.entries, r.Reading)
		}
		for _, id := range r.Done {
			done[id] = true
		}
	}
	b.entries = slices.DeleteFunc(b.entries, func(e *entry) bool { return done[e.id()] })
	for _, e := range b.entries {
		b.bytes += e.size()
	}
}

// image returns all live records, and forgets boots without any.
func (b *buffer) image() (live []record) {
	waits := map[*boot]bool{b.boot: true}
	for _, e := range b.entries {
		waits[e.boot] = true
	}
	b.boots = slices.DeleteFunc(b.boots, func(o *boot) bool { return !waits[o] })
	for _, o := range b.boots {
		live = append(live, record{Boot: o})
	}
	for _, e := range b.entries {
		live = append(live, record{Reading: e})
	}
	return live
}

// add accepts a reading and returns when it is durable.
func (b *buffer) add(s stamp, row tables.Entity) error {
	e, err := b.append(s, row)
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

func (b *buffer) append(s stamp, row tables.Entity) (e *entry, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e = &entry{stamp: s, Boot: b.boot.Nonce, Seq: b.added + 1, Row: row, boot: b.boot, n: b.added + 1}
	switch {
	case b.closed:
		return nil, ErrClosed
	case e.size() > b.max:
		return nil, fmt.Errorf("it needs %d bytes, and the buffer has only %d", e.size(), b.max)
	case b.bytes+e.size() > b.max:
		return nil, ErrFull
	}
	if b.journal != nil {
		if err = b.begin(); err == nil {
			e.ticket, err = b.journal.append(record{Reading: e})
		}
		if err != nil {
			return nil, err
		}
	}
	b.added++
	b.entries = append(b.entries, e)
	b.bytes += e.size()
	return e, nil
}

// next returns up to n of the first entries that are durable.
func (b *buffer) next(n int) (batch []*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries[:min(n, len(b.entries))] {
		if !b.journal.flushed(e.ticket) {
			break
		}
		batch = append(batch, e)
	}
	return batch
}

// remove removes entries that are stored or reported.
func (b *buffer) remove(gone ...*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var done record
	for _, e := range gone {
		done.Done = append(done.Done, e.id())
		b.bytes -= e.size()
		switch i := slices.Index(b.entries, e); {
		case i == 0: // as nearly always; it moves none of the others, however many wait
			b.entries[0], b.entries = nil, b.entries[1:]
		case i > 0:
			b.entries = slices.Delete(b.entries, i, i+1)
		}
	}
	close(b.changed)
	b.changed = make(chan struct{})
	if b.journal != nil {
		// It need not be flushed, and may fail: entries that are sent again turn out to be stored.
		_, _ = b.journal.append(done)
		b.journal.shrink(b.bytes, b.image)
		_ = b.begin() // else the next reading does it
	}
}

// mark is how many readings were accepted.
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
	n, _ = slices.BinarySearchFunc(b.entries, upTo+1, func(e *entry, n uint64) int { return cmp.Compare(e.n, n) })
	return n, b.changed
}

// usage counts the waiting readings, and the waiting acknowledgements of commands apart.
func (b *buffer) usage() (readings, acks, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries {
		if e.acknowledges() {
			acks++
		}
	}
	return int64(len(b.entries)) - acks, acks, b.bytes
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
