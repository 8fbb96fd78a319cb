package roles

import (
	"context"
	"errors"
	"slices"
	"time"

	"furrow/cmd/internal/config"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

// A Status is how a pipeline is doing, from what its runs have left behind: it
// takes the same few requests whatever the size of the fleet.
type Status struct {
	Pipeline config.Pipeline
	At       time.Time           // of the service
	Runs     []worker.RunFigures // the last ones, the oldest first
	Queue    int                 // live messages, about
	Catchup  int                 // messages of devices far behind, audits and refolds, about
	Poison   int
	Audited  tables.Ticks // slot of the last run that has put audits; zero: none has
}

// recentRuns is how many slots a status looks back.
const recentRuns = 10

// Status is how a pipeline is doing. A pipeline that never ran has no runs.
func (f *Fleet) Status(ctx context.Context, p config.Pipeline) (s Status, err error) {
	s.Pipeline = p
	s.Runs, s.At, err = f.Runs().Recent(ctx, p.Name, p.Cadence, recentRuns)
	if err != nil && !errors.Is(err, tables.ErrNoTable) {
		return s, err
	}
	if s.At.IsZero() {
		s.At = time.Now()
	}
	queue := f.Queue(p)
	if s.Queue, err = OrNone(queue.Depth(ctx)); err != nil {
		return s, err
	}
	if s.Catchup, err = OrNone(queue.CatchupDepth(ctx)); err != nil {
		return s, err
	}
	if s.Poison, err = OrNone(queue.PoisonDepth(ctx)); err != nil {
		return s, err
	}
	s.Audited, err = f.Runs().Audited(ctx, p.Name)
	return s, err
}

// OrNone is n, and zero where a queue is not there yet.
func OrNone(n int, err error) (int, error) {
	if errors.Is(err, worker.ErrNoQueue) {
		return 0, nil
	}
	return n, err
}

// Lag is how old the oldest reading may be that is not folded, and whether that
// is known: the age of the last run that is done, or more where a device is
// far behind.
func (s Status) Lag() (time.Duration, bool) {
	done, ok := worker.LastDone(s.Runs)
	if !ok {
		return 0, false
	}
	return max(0, s.At.Sub(done.Run.Slot.Time()), s.Fleet().Lag), true
}

// Fleet is what the runs say of the fleet.
func (s Status) Fleet() schema.MonthFigures { return worker.Totals(s.Runs) }

// Planned is how long ago the fleet was planned last, and whether that is known.
func (s Status) Planned() (ago time.Duration, known bool) {
	for _, r := range slices.Backward(s.Runs) {
		if r.Planned > 0 {
			return max(0, s.At.Sub(r.Run.Slot.Time())), true
		}
	}
	return 0, false
}
