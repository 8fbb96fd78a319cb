package worker

import (
	"time"

	"furrow/tables"
)

// slotAt returns the slot that t lies in: the last multiple of the cadence since the Unix epoch, so that all schedulers
// agree.
func slotAt(t time.Time, cadence time.Duration) tables.Ticks {
	epoch := time.Unix(0, 0)
	return tables.TicksOf(epoch.Add(t.Sub(epoch).Truncate(cadence)))
}
