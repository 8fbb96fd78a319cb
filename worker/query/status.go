package query

import (
	"context"
	"errors"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

// A Status is the health of a pipeline according to the figures of its runs. It takes the
// same few requests whatever the size of the fleet.
type Status struct {
	Cadence time.Duration
	At      time.Time           // of the service
	Ahead   time.Duration       // of this process's clock against the service's; zero: by less than a minute
	Runs    []worker.RunFigures // the last ones, the oldest first
	Queue   int                 // approximate number of live messages
	Catchup int                 // and of messages for devices far behind, audits and refolds
	Poison  int
	Skipped Skipped              // rows of runs that cannot be read
	Targets []schema.TargetState // of notifications, where they were asked for
	Budget  float64              // US dollars a month, of the configuration; zero: none
	Spent   schema.Spending      // where there is a budget
	// Unheard are the enrollments for which audits of the last day have found rows that no token admitted, where they
	// were asked for.
	Unheard []Unheard
	// Verified is where the scheduler verifies samples; otherwise nil.
	Verified *schema.Verification
}

// RecentRuns is the usual number of slots of a status.
const RecentRuns = 10

func (f Progress) runs(skipped *Skipped) worker.Runs {
	runs := worker.Runs{Table: f.Tables.Table(f.Names.Runs())}
	runs.Unreadable = func(e tables.Entity, err error) {
		skipped.Add(&schema.UnreadableError{
			Table: runs.Table.Name, PartitionKey: e.PartitionKey, RowKey: e.RowKey, Err: err})
	}
	return runs
}

// Status returns the health of the pipeline whose messages are in queue, from its runs in so many
// slots. A pipeline that never ran has no runs.
func (f Progress) Status(
	ctx context.Context, p schema.Pipeline, cadence time.Duration, queue *worker.Queue, slots int,
) (s Status, err error) {
	s.Cadence = cadence
	s.Runs, s.At, err = f.runs(&s.Skipped).Recent(ctx, p, cadence, slots)
	if err != nil && !errors.Is(err, tables.ErrNoTable) {
		return s, err
	}
	if s.At.IsZero() {
		s.At = time.Now()
	}
	if ahead := time.Since(s.At).Truncate(time.Second); ahead.Abs() >= time.Minute {
		s.Ahead = ahead
	}
	if s.Queue, err = OrNone(queue.Depth(ctx)); err != nil {
		return s, err
	}
	if s.Catchup, err = OrNone(queue.CatchupDepth(ctx)); err != nil {
		return s, err
	}
	s.Poison, err = OrNone(queue.PoisonDepth(ctx))
	return s, err
}

// Audited returns the slot of the last run of a pipeline that has put audits; zero where none has.
func (f Progress) Audited(ctx context.Context, p schema.Pipeline) (tables.Ticks, error) {
	return f.runs(&Skipped{}).Audited(ctx, p)
}

// Spent returns what a pipeline's runs have done in the month of now, as far as it is counted.
func (f Progress) Spent(ctx context.Context, p schema.Pipeline, now time.Time) (schema.Spending, error) {
	return f.runs(&Skipped{}).Spent(ctx, p, now)
}

// Figures returns the figures of a pipeline's runs from a slot on, the oldest first. It takes one query.
func (f Progress) Figures(ctx context.Context, p schema.Pipeline, slot tables.Ticks) ([]worker.RunFigures, error) {
	runs, err := f.runs(&Skipped{}).FiguresAlone(ctx, p, slot)
	if errors.Is(err, tables.ErrNoTable) {
		return nil, nil
	}
	return runs, err
}

// FoldedUntil returns the time up to which a pipeline's last run has folded what devices sent, where rows settle for
// some time: devices are silent by it. It is now where no run of late is over. It takes one query.
func (f Progress) FoldedUntil(
	ctx context.Context, p schema.Pipeline, cadence, settle time.Duration, now time.Time,
) (time.Time, error) {
	runs, err := f.Figures(ctx, p, tables.TicksOf(now.Add(-RecentRuns*cadence)))
	if last, ok := worker.LastDone(runs); ok {
		now = last.Run.Slot.Time().Add(-settle)
	}
	return now, err
}

// OrNone returns n, or zero where the queue does not exist yet.
func OrNone(n int, err error) (int, error) {
	if errors.Is(err, worker.ErrNoQueue) {
		return 0, nil
	}
	return n, err
}

// Lag returns the greatest age that an unfolded reading can have, and whether it is known:
// the age of the last run that is done, or more if a device is far behind.
func (s Status) Lag() (time.Duration, bool) {
	done, ok := worker.LastDone(s.Runs)
	if !ok {
		return 0, false
	}
	return max(0, s.At.Sub(done.Run.Slot.Time()), s.Fleet().Lag), true
}

func (s Status) Fleet() schema.MonthFigures { return worker.Totals(s.Runs) }

// Planned returns the time since the fleet was last planned, and whether it is known.
func (s Status) Planned() (ago time.Duration, known bool) {
	for _, r := range slices.Backward(s.Runs) {
		if r.Planned > 0 {
			return max(0, s.At.Sub(r.Run.Slot.Time())), true
		}
	}
	return 0, false
}
