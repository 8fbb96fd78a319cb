package worker

import (
	"context"
	"fmt"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A run that does not end holds back the slots after it for this long at most,
// or for this many cadences, whichever is longer.
const (
	longestHold     = 10 * time.Minute
	longestHoldRuns = 10
)

func longestHoldAt(cadence time.Duration) time.Duration {
	return max(longestHold, longestHoldRuns*cadence)
}

// A backlog is what is known, when a slot has come, of the work before it.
type backlog struct {
	depth   int         // live messages
	waiting int         // master jobs among them that have not begun
	last    *schema.Run // the newest run that was not skipped; nil where none is known
	due     bool        // last has held back slots for long enough
	figures RunFigures  // of last, if they matter
}

// backlogOf looks at the recent runs before a slot, the oldest first.
func backlogOf(depth int, recent []schema.Run, slot tables.Ticks, cadence time.Duration) backlog {
	b := backlog{depth: depth}
	for i, r := range recent {
		if r.Skipped != "" || r.Unmarked() && r.Started == 0 {
			continue
		}
		b.last = &recent[i]
		if r.Waits() {
			b.waiting++
		}
	}
	if b.last != nil {
		b.due = slot.Time().Sub(b.last.Slot.Time()) >= longestHoldAt(cadence)
	}
	return b
}

// undecided tells whether the figures of the last run matter.
func (b backlog) undecided() bool {
	return b.depth > 0 && b.waiting == 0 && b.last != nil && !b.due
}

// skip is why the slot is to be skipped, or empty: a run that begins while the
// batches of the last one are under way would compete with it for its devices.
// An empty live queue skips nothing, whatever the rows say: a queue that was
// cleared has lost its masters, and a worker that was killed the last of its
// figures.
//
// Masters that wait are counted apart. Each is one message and a whole run's
// worth: workers that were away for a day are not to find a thousand of them.
func (b backlog) skip() string {
	switch {
	case b.depth == 0:
		return ""
	case b.waiting >= 2:
		return fmt.Sprintf("the master jobs of %d runs wait in the queue", b.waiting)
	case b.last == nil || b.due:
		return ""
	case b.waiting == 1:
		return fmt.Sprintf("the master job of run %s waits in the queue", clock(b.last.Slot))
	}
	left, planned := b.figures.Unfinished()
	switch {
	case !planned:
		return fmt.Sprintf("run %s is still being planned", clock(b.last.Slot))
	case left > 0:
		return fmt.Sprintf("%d of %d batches of run %s are not done", left, b.figures.Months.Batches+b.figures.Workers.Parts,
			clock(b.last.Slot))
	}
	return ""
}

func clock(slot tables.Ticks) string { return slot.Time().Format(time.TimeOnly) }

// skip looks whether a slot is to be skipped, and says why.
func (s *Scheduler) skip(ctx context.Context, slot tables.Ticks, recent []schema.Run) (string, error) {
	depth, err := s.Queue.Depth(ctx)
	if err != nil {
		return "", err
	}
	b := backlogOf(depth, recent, slot, s.Cadence)
	if b.undecided() {
		if b.figures, err = s.Runs.Figures(ctx, s.Pipeline, b.last.Slot); err != nil {
			return "", err
		}
	}
	return b.skip(), nil
}
