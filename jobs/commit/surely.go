package commit

import (
	"time"

	"furrow/tables"
)

// AtMost returns a moment that is still to come by every clock, as Surely returns one that is over.
func AtMost(now, slot tables.Ticks) tables.Ticks { return max(now, tables.TicksOf(time.Now()), slot) }

// Surely returns a moment that is over by every clock: that of storage, of this process, and of the scheduler, whose
// slot is zero where nobody knows it. What is deleted goes by this one, as nothing brings it back.
func Surely(now, slot tables.Ticks) tables.Ticks {
	now = min(now, tables.TicksOf(time.Now()))
	if slot != 0 {
		now = min(now, slot)
	}
	return now
}
