package device

import (
	"log/slog"
	"slices"
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
	if !b.boot.Zero.IsZero() {
		return nil
	}
	known := []boot{b.boot.at(zero, now)}
	before := earliest
	for i, past := range b.boots {
		if past == b.boot {
			break
		}
		before = latest(before, past.After)
		if past.Zero.IsZero() && !past.Wall.Before(before) &&
			!past.Wall.Add(b.span(past)).After(startOfOne(b.boots[i:], zero)) {
			log.Info("readings of an earlier run get their times from the device's own clock",
				"run", past.Nonce, "began", past.Wall)
			known = append(known, past.at(past.Wall, time.Time{}))
		}
		before = latest(before, past.Zero, past.Seen)
	}
	if err := b.save(known); err != nil && b.untimed() {
		return err
	}
	for _, k := range known {
		for _, o := range b.boots {
			if o.Nonce == k.Nonce {
				o.learn(k)
			}
		}
	}
	return nil
}

// startOfOne returns when the first of boots began whose time is known; if there is none, otherwise.
func startOfOne(boots []*boot, otherwise time.Time) time.Time {
	for _, o := range boots {
		if !o.Zero.IsZero() {
			return o.Zero
		}
	}
	return otherwise
}

func (b *buffer) save(known []boot) error {
	if b.journal == nil {
		return nil
	}
	var ticket uint64
	for _, k := range known {
		var err error
		if ticket, err = b.journal.append(record{Boot: &k}); err != nil {
			return err
		}
	}
	return b.journal.flush(ticket)
}

// untimed reports whether any waiting reading has no key yet.
func (b *buffer) untimed() bool {
	return slices.ContainsFunc(b.entries, func(e *entry) bool { _, ok := e.key(); return !ok })
}

// span is the time from the start of a boot to its last waiting reading.
func (b *buffer) span(of *boot) (d time.Duration) {
	for _, e := range b.entries {
		if e.boot == of && !e.Timed {
			d = max(d, time.Duration(e.At))
		}
	}
	return d
}

// at returns the boot with the server's time at its start.
func (o boot) at(zero, seen time.Time) boot {
	o.Zero, o.Seen = zero.UTC(), seen.UTC()
	return o
}

// learn takes over what is known about the boot, unless its start time is already known.
func (o *boot) learn(known boot) {
	if o.Zero.IsZero() {
		*o = known
	}
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }
