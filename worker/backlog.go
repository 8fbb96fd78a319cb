package worker

import (
	"fmt"

	"furrow/tables"
)

// When a slot is skipped.
const (
	// trifle is a number of messages that is no backlog, however small the fleet:
	// a device that catches up and a batch that waits to be tried again are
	// in the queue, too, and must not hold back the others' next slot.
	trifle = 10
	// patience is how many slots are skipped in a row before one runs anyway.
	patience = 3
)

// A backlog is what is known, when a slot has come, of the work before it.
type backlog struct {
	depth   int   // messages in the queue
	waiting int   // master jobs among them that have not begun
	delayed int   // audits among them whose time has not come
	batches int64 // of the last run
	skipped int   // slots in a row until now
}

// backlogOf looks at the recent runs before a slot, the oldest first.
func backlogOf(depth int, recent []tables.Run, slot tables.Ticks) backlog {
	b := backlog{depth: depth}
	for _, r := range recent {
		if r.Skipped != "" {
			b.skipped++
			continue
		}
		b.skipped = 0
		// The last run may be planning yet, and have but a part of its batches. The
		// greatest of a few runs is no smaller than what is to come.
		b.batches = max(b.batches, r.Batches)
		b.delayed += delayed(r, slot)
		if r.Waits() {
			b.waiting++
		}
	}
	return b
}

// delayed is about how many of a run's audits are in the queue and have not come.
// Their number is that of the run's batches: taken for work that waits, they
// would make slots be skipped for as long as they are spread over.
func delayed(r tables.Run, at tables.Ticks) int {
	spread, left := r.AuditsUntil-r.Started, r.AuditsUntil-at
	if r.Started == 0 || left <= 0 {
		return 0
	}
	return int(float64(r.Audits) * min(1, float64(left)/float64(spread)))
}

// skip is why the slot is to be skipped, or empty. A master job that waits is
// one message and a whole run's worth: workers that were away for a day are not
// to find a thousand of them.
func (b backlog) skip() string {
	rest := int64(b.depth - b.waiting - b.delayed)
	run := max(b.batches, trifle)
	switch {
	case b.depth == 0:
		return "" // whatever the rows say: a queue that was cleared has lost its masters
	case b.waiting >= 2:
		return fmt.Sprintf("the master jobs of %d runs wait in the queue", b.waiting)
	case rest >= 2*run:
		return fmt.Sprintf("the queue holds %d messages, two runs' worth", b.depth-b.delayed)
	case b.skipped >= patience:
		return ""
	case b.waiting == 1:
		return "the master job of the last run waits in the queue"
	case rest > max(b.batches/10, trifle):
		return fmt.Sprintf("the queue holds %d messages, more than a tenth of the last run's %d batches", b.depth-b.delayed, b.batches)
	}
	return ""
}
