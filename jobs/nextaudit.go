package jobs

import (
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// NextAudit returns when the next audit is due that counts a row which is in storage now, and so finds it if it was
// late: according to the ages, or when no living token of a device admits rows of that age, which is after admits. A
// run puts the audit within minutes of that.
func (p *Pipeline) NextAudit(month schema.Month, row, now tables.Ticks, admits time.Duration) tables.Ticks {
	seed := p.auditTurn(Message{}, month).seed
	// first returns the first end of a period at or after a moment, unless it is over.
	first := func(every, at tables.Ticks) tables.Ticks {
		at = max(at, now+1)
		offset := tables.Ticks(seed % uint64(every))
		return max(at-offset+every-1, 0)/every*every + offset
	}
	last := floorTo(row, day) + day + tables.Ticks((admits+tokenGrace)/100)
	next := first(lastAge, last)
	for _, a := range ages() {
		end := first(a.every, floorTo(row, hour)+hour+a.old)
		if row >= floorTo(max(end-a.every-a.old, 0), hour) { // else the age was reached before
			next = min(next, end)
		}
	}
	return next
}
