package queue

import (
	"sync"
	"time"
)

// settable is how far the system's clock may be from the time that passed
// before that counts as having been set.
const settable = int64(time.Second)

// A clock gives times that never go back, and that go on when the system's clock
// is set back: else messages that were visible would not be, and leases would
// last for as long as the clock was wrong. It follows when the clock is set
// forward, as on a device that boots without the time. Zero is ready for use.
type clock struct {
	mu    sync.Mutex
	last  time.Time // as the system's clock had it
	now   int64     // the latest time given, in ns since 1970
	ahead int64     // how far that is before the system's clock, in ns
}

// An instant is a time of the clock.
type instant struct {
	ns    int64 // since 1970
	ahead int64 // of the system's clock
}

// resume makes the clock go on from a time given in an earlier life.
func (c *clock) resume(ns int64) { c.now = max(c.now, ns) }

// read gives the time. Readers are served one at a time, so that a time that is
// earlier than the last one was set, and not merely read out of order.
func (c *clock) read(now func() time.Time) instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := now()
	wall := t.UnixNano()
	if c.last.IsZero() {
		c.set(wall - c.now)
	} else {
		passed := max(t.Sub(c.last), 0) // by the monotonic clock, where t has one
		c.set(wall - c.last.UnixNano() - int64(passed))
	}
	c.last = t
	c.now = max(c.now, wall+c.ahead)
	return instant{c.now, c.ahead}
}

// set notes that the system's clock was set, by so much.
func (c *clock) set(by int64) {
	if by < -settable || by > settable {
		c.ahead = max(0, c.ahead-by)
	}
}

// shown is a time of the clock as the system's clock has it now, to tell clients.
func (i instant) shown(ns int64) time.Time {
	if ns == never {
		return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	}
	return time.Unix(0, ns-i.ahead).UTC()
}
