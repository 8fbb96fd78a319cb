package worker

import (
	"context"
	"fmt"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A run that does not end holds back the slots after it for at most this long, or for this many cadences, whichever is
// longer.
const (
	longestHold     = 10 * time.Minute
	longestHoldRuns = 10
)

func longestHoldAt(cadence time.Duration) time.Duration {
	return max(longestHold, longestHoldRuns*cadence)
}

// A backlog is what a scheduler knows of earlier work when a slot comes.
type backlog struct {
	depth   int         // live messages
	waiting int         // master jobs among them that no worker has started
	last    *schema.Run // the newest run that was not skipped; nil if none is known
	due     bool        // last has held back slots for long enough to stop waiting for it
	figures RunFigures  // of last, if they matter
}

// backlogOf summarizes the runs before a slot, which are in order of their slots.
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

// undecided reports whether the decision needs the figures of the last run.
func (b backlog) undecided() bool {
	return b.depth > 0 && b.waiting == 0 && b.last != nil && !b.due
}

// skip returns why the slot is to be skipped, or "". A run that starts while batches of the last one are under way
// would compete with it for devices. An empty live queue skips nothing, whatever the rows say: a cleared queue has lost
// its master jobs, and a killed worker has not written its last figures.
//
// Waiting master jobs are counted separately, because each is one message but a whole run of work: workers that were
// away for a day must not find a thousand of them.
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

// skip decides whether a slot is to be skipped, and why.
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

// slotAt returns the slot that t lies in: the last multiple of the cadence since the Unix epoch, so that all schedulers
// agree.
func slotAt(t time.Time, cadence time.Duration) tables.Ticks {
	epoch := time.Unix(0, 0)
	return tables.TicksOf(epoch.Add(t.Sub(epoch).Truncate(cadence)))
}
