package device

import (
	"log/slog"
	"time"
)

// earliest is before any device ran this: a clock that shows an earlier time is
// wrong.
var earliest = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// anchor fixes the times, and so the keys, of all that was taken before the
// time was known: zero is the server's time when this boot began, now what it is.
// That is on disk before any of them is sent, as a reading must never get
// another key.
func (b *buffer) anchor(zero, now time.Time, log *slog.Logger) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.boot.zero.IsZero() {
		return nil
	}
	learnt := []clockRecord{{b.boot.nonce, zero.UnixNano(), now.UnixNano()}}
	before := earliest
	for _, past := range b.boots {
		if past == b.boot {
			break
		}
		before = latest(before, past.after)
		if past.zero.IsZero() && !past.wall.Before(before) && !past.wall.Add(b.span(past)).After(zero) {
			log.Info("readings of an earlier run are stamped by the device's own clock", "run", past.nonce, "began", past.wall)
			learnt = append(learnt, clockRecord{past.nonce, past.wall.UnixNano(), 0})
		}
		before = latest(before, past.zero, past.seen)
	}
	if err := b.record(learnt); err != nil && b.untimed() {
		return err
	}
	for _, r := range learnt {
		for _, one := range b.boots {
			one.take(r)
		}
	}
	return nil
}

func (b *buffer) record(learnt []clockRecord) error {
	if b.journal == nil {
		return nil
	}
	var ticket uint64
	for _, r := range learnt {
		var err error
		if _, ticket, err = b.journal.append(r.encode()); err != nil {
			return err
		}
	}
	return b.journal.flush(ticket)
}

// untimed tells whether a reading waits whose key has yet to be fixed.
func (b *buffer) untimed() bool {
	for _, e := range b.entries {
		if _, ok := e.key(); !ok {
			return true
		}
	}
	return false
}

// span is the time from a boot's begin to its last reading that waits.
func (b *buffer) span(of *boot) (d time.Duration) {
	for _, e := range b.entries {
		if e.boot == of && !e.timed {
			d = max(d, time.Duration(e.at))
		}
	}
	return d
}

// take takes what r says of this boot.
func (o *boot) take(r clockRecord) {
	if r.nonce == o.nonce && o.zero.IsZero() {
		o.zero, o.seen = time.Unix(0, r.zero), time.Unix(0, r.seen)
	}
}

func latest(times ...time.Time) (t time.Time) {
	for _, one := range times {
		if one.After(t) {
			t = one
		}
	}
	return t
}
