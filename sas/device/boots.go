package device

import (
	"log/slog"
	"time"
)

// earliest is older than this code: a clock that shows an earlier time is wrong.
var earliest = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// anchor fixes the times, and so the keys, of all readings that were taken before the time
// was known. zero is the server's time at the start of this boot, now the current one. Both
// are on disk before any of these readings is sent, because a reading's key must not change.
func (b *buffer) anchor(zero, now time.Time, log *slog.Logger) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.boot.zero.IsZero() {
		return nil
	}
	records := []clockRecord{{b.boot.nonce, zero.UnixNano(), now.UnixNano()}}
	before := earliest
	for _, past := range b.boots {
		if past == b.boot {
			break
		}
		before = latest(before, past.after)
		if past.zero.IsZero() && !past.wall.Before(before) && !past.wall.Add(b.span(past)).After(zero) {
			log.Info("readings of an earlier run get their times from the device's own clock", "run", past.nonce, "began",
				past.wall)
			records = append(records, clockRecord{past.nonce, past.wall.UnixNano(), 0})
		}
		before = latest(before, past.zero, past.seen)
	}
	if err := b.record(records); err != nil && b.untimed() {
		return err
	}
	for _, r := range records {
		for _, one := range b.boots {
			one.apply(r)
		}
	}
	return nil
}

func (b *buffer) record(records []clockRecord) error {
	if b.journal == nil {
		return nil
	}
	var ticket uint64
	for _, r := range records {
		var err error
		if _, ticket, err = b.journal.append(r.encode()); err != nil {
			return err
		}
	}
	return b.journal.flush(ticket)
}

// untimed reports whether any waiting reading has no key yet.
func (b *buffer) untimed() bool {
	for _, e := range b.entries {
		if _, ok := e.key(); !ok {
			return true
		}
	}
	return false
}

// span is the time from the start of a boot to its last waiting reading.
func (b *buffer) span(of *boot) (d time.Duration) {
	for _, e := range b.entries {
		if e.boot == of && !e.timed {
			d = max(d, time.Duration(e.at))
		}
	}
	return d
}

// apply sets the boot's times if r belongs to this boot.
func (o *boot) apply(r clockRecord) {
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
