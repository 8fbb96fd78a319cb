package queue

import (
	"sync"
	"time"
)

// settable is the difference, in ns, between the system's clock and the time that
// passed, above which the clock counts as having been set.
const settable = int64(time.Second)

// A clock returns times that never go back, and that continue when the system's clock
// is set back. Otherwise visible messages would become invisible, and leases would
// last for as long as the clock was wrong. It follows when the system's clock is set
// forward, as on a machine that boots without the time. The zero clock is ready for use.
type clock struct {
	mu    sync.Mutex
	last  time.Time // last reading of the system's clock
	now   int64     // latest time returned, in ns since 1970
	ahead int64     // of the system's clock, in ns
}

// An instant is a time of the clock.
type instant struct {
	ns    int64 // since 1970
	ahead int64 // of the system's clock
}

// resume continues from a time that was returned before a restart.
func (c *clock) resume(ns int64) { c.now = max(c.now, ns) }

// read returns the time. It calls now under a lock, so that a reading that is earlier
// than the last one means that the clock was set.
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

// set records that the system's clock was set by so many ns.
func (c *clock) set(by int64) {
	if by < -settable || by > settable {
		c.ahead = max(0, c.ahead-by)
	}
}

// shown converts a time of the clock to the system's clock, for answers.
func (i instant) shown(ns int64) time.Time {
	if ns == never {
		return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	}
	return time.Unix(0, ns-i.ahead).UTC()
}
