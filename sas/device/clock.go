package device

import (
	"sync"
	"time"

	"furrow/tables"
)

// A clock extrapolates the server's time with the monotonic clock. The wall clock is used
// only until the server's time is known, and only for proofs.
type clock struct {
	start time.Time // of this boot, that is, of this Client
	wall  func() time.Time

	mu          sync.Mutex
	zero        time.Time    // the server's time at start; zero while it is not known
	last        tables.Ticks // of the newest reading
	certificate time.Time    // start of a certificate's validity, if the wall clock shows an earlier time
}

// A stamp is the time of a reading: in ticks if timed, otherwise in nanoseconds since the
// start of the boot.
type stamp struct {
	Timed bool  `json:"timed"`
	At    int64 `json:"at"`
}

// maxCorrection bounds the backward corrections of the server's time under which readings
// stay in order. A larger one means that the server's clock was set.
const maxCorrection = time.Minute

func newClock(wall func() time.Time) *clock { return &clock{start: time.Now(), wall: wall} }

// since is the time since the start of the boot.
func (c *clock) since() time.Duration { return time.Since(c.start) }

func (c *clock) known() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.zero.IsZero()
}

// learn sets the server's time from a response, assumed to be halfway between request and
// arrival. It returns the server's time at the start of the boot.
func (c *clock) learn(server time.Time, sent, received time.Duration) (zero time.Time) {
	zero = server.Add(-(sent + received) / 2).Round(0)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.zero.IsZero() { // earlier readings must sort before later ones
		c.last = tables.TicksOf(zero.Add(received))
	}
	c.zero = zero
	return zero
}

// stamp returns the stamp of a reading taken at t; the zero time means now.
func (c *clock) stamp(t time.Time) stamp {
	if !t.IsZero() && t == t.Round(0) { // no monotonic clock reading: not from time.Now of this process
		return stamp{Timed: true, At: int64(tables.TicksOf(t))}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	since := c.since()
	if !t.IsZero() {
		since = t.Sub(c.start)
	}
	if c.zero.IsZero() {
		return stamp{At: int64(since)}
	}
	ticks := tables.TicksOf(c.zero.Add(since))
	if t.IsZero() {
		if ticks < c.last && ticks.Add(maxCorrection) > c.last {
			ticks = c.last
		}
		c.last = ticks
	}
	return stamp{Timed: true, At: int64(ticks)}
}

// now is the server's time, or the wall clock's while that is unknown.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.zero.IsZero() {
		return c.wall()
	}
	return c.zero.Add(c.since())
}

// certificateTime is the time for verifying certificates.
func (c *clock) certificateTime() time.Time {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.zero.IsZero() && now.Before(c.certificate) {
		return c.certificate
	}
	return now
}

// setCertificateTime sets the time for verifying certificates while the server's time is
// unknown. The zero time resets it.
func (c *clock) setCertificateTime(day time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.certificate = day
}
