package commit

import (
	"time"

	"furrow/tables"
)

// A Clock is that of this process; nil: time.Now. Like storage's and the scheduler's, it may be wrong.
type Clock func() time.Time

func (c Clock) now() tables.Ticks {
	if c == nil {
		return tables.TicksOf(time.Now())
	}
	return tables.TicksOf(c())
}

// AtMost returns a moment that is still to come by every clock, as Surely returns one that is over.
func (c Clock) AtMost(now, slot tables.Ticks) tables.Ticks { return max(now, c.now(), slot) }

// Surely returns a moment that is over by every clock: that of storage, of this process, and of the scheduler, whose
// slot is zero where nobody knows it. What is deleted goes by this one, as nothing brings it back, and so does what
// ends once nothing may arrive any more.
func (c Clock) Surely(now, slot tables.Ticks) tables.Ticks {
	now = min(now, c.now())
	if slot != 0 {
		now = min(now, slot)
	}
	return now
}
