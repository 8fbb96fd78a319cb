package worker

import (
	"context"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// Recent reads the figures of a pipeline's runs in its last slots, the oldest first, with the time of the service. If
// none of them is done, because slots are skipped while a run takes long, it adds the runs before them back to the
// newest one that is done, but at most as many as there are slots.
func (r Runs) Recent(ctx context.Context, p schema.Pipeline, cadence time.Duration,
	slots int) ([]RunFigures, time.Time, error) {
	last := tables.TicksOf(time.Now().Add(-time.Duration(slots) * cadence))
	runs, now, err := r.FiguresSince(ctx, p, last)
	if _, done := LastDone(runs); err != nil || done {
		return runs, now, err
	}
	all, now, err := r.FiguresSince(ctx, p, last.Add(-2*longestHoldAt(cadence)))
	if err != nil {
		return runs, now, err
	}
	var older []RunFigures // newest first
	recent := slices.IndexFunc(all, func(r RunFigures) bool { return r.Run.Slot >= last })
	if recent < 0 {
		recent = len(all)
	}
	for _, r := range slices.Backward(all[:recent]) {
		if r.Run.Skipped == "" && len(older) < slots {
			older = append(older, r)
		}
		if r.Done() {
			break
		}
	}
	slices.Reverse(older)
	return append(older, all[recent:]...), now, nil
}
