package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"furrow/cmd/internal/lab/simulate"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

// awaitRunsFor is how long simulate waits for runs at most. A killed worker never ends one.
const awaitRunsFor = 10 * time.Second

// runsOver waits until the runs are over that have begun before, and reports whether they are. A run that read a device
// while rows were stored moves its checkpoint when it commits, and only then some of those rows turn out to be late.
func (d *deviceAdmin) runsOver(ctx context.Context, p schema.Pipeline, cadence time.Duration) (bool, error) {
	runs := worker.Runs{Table: d.Tables.Table(d.Names.Runs())}
	since := tables.TicksOf(time.Now().Add(-2*cadence - 10*time.Minute))
	var end tables.Ticks
	for began := time.Now(); time.Since(began) < awaitRunsFor; {
		all, now, err := runs.FiguresSince(ctx, p, since)
		if errors.Is(err, tables.ErrNoTable) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if end == 0 {
			end = tables.TicksOf(now)
		}
		if !slices.ContainsFunc(all, func(r worker.RunFigures) bool { return underWay(r, end) }) {
			return true, nil
		}
		if !simulate.Pause(ctx, auditPoll) {
			break
		}
	}
	return false, nil
}

// underWay reports whether a run has begun before a time and is not known to be over.
func underWay(r worker.RunFigures, at tables.Ticks) bool {
	return r.Run.Slot <= at && r.Run.Skipped == "" && r.Run.Started != 0 && !r.Done()
}
