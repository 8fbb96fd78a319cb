package device

import (
	"sync"
	"time"

	"furrow/tables"
)

// A clock tells the server's time by the monotonic clock: what the wall shows
// serves as long as there is nothing better, and only to make a proof.
type clock struct {
	start time.Time // of the boot: of this Client
	wall  func() time.Time

	mu        sync.Mutex
	zero      time.Time    // the server's time at start; zero while it is not known
	last      tables.Ticks // of the newest reading
	certified time.Time    // the first day of a certificate, while the wall shows an earlier one
}

// A stamp is when a reading was taken: in ticks if it is timed, and else in
// nanoseconds since the boot.
type stamp struct {
	timed bool
	at    int64
}

// backwards is how far readings are kept in order when the server's time turns
// out to be earlier than it was thought to be. More than that is no correction
// but another time.
const backwards = time.Minute

func newClock(wall func() time.Time) *clock { return &clock{start: time.Now(), wall: wall} }

// since is how long the boot is ago.
func (c *clock) since() time.Duration { return time.Since(c.start) }

func (c *clock) known() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.zero.IsZero()
}

// learn takes the server's time from an answer, made halfway between the request
// and its arrival. It gives the server's time at the boot.
func (c *clock) learn(server time.Time, asked, answered time.Duration) (zero time.Time) {
	zero = server.Add(-(asked + answered) / 2).Round(0)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.zero.IsZero() { // what was taken until now is to come before what comes
		c.last = tables.TicksOf(zero.Add(answered))
	}
	c.zero = zero
	return zero
}

// stamp is the stamp of a reading of t; the zero time is now.
func (c *clock) stamp(t time.Time) stamp {
	if !t.IsZero() && t == t.Round(0) { // without a monotonic reading: not of time.Now, or of another process
		return stamp{timed: true, at: int64(tables.TicksOf(t))}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	since := c.since()
	if !t.IsZero() {
		since = t.Sub(c.start)
	}
	if c.zero.IsZero() {
		return stamp{at: int64(since)}
	}
	ticks := tables.TicksOf(c.zero.Add(since))
	if t.IsZero() {
		if ticks < c.last && ticks.Add(backwards) > c.last {
			ticks = c.last
		}
		c.last = ticks
	}
	return stamp{timed: true, at: int64(ticks)}
}

// now is the server's time, or the wall's while that is not known.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.zero.IsZero() {
		return c.wall()
	}
	return c.zero.Add(c.since())
}

// certificates is the time at which certificates are checked.
func (c *clock) certificates() time.Time {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.zero.IsZero() && now.Before(c.certified) {
		return c.certified
	}
	return now
}

// certify makes day the time at which certificates are checked, for as long as
// the time is not known. The zero time ends that.
func (c *clock) certify(day time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.certified = day
}
