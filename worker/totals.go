package worker

import (
	"context"
	"maps"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// AddMonth adds the figures of a month.
func (r *RunFigures) AddMonth(m schema.MonthFigures) {
	if r.ByMonth == nil {
		r.ByMonth = map[schema.Month]schema.MonthFigures{}
	}
	r.ByMonth[m.Month] = m
	r.Months.Add(m)
	r.Planned++
}

// Totals returns what a pipeline's runs, the oldest first, say about the fleet. Each month counts as the last run that
// planned it has seen it, even if that run has not planned the others. Rows, Rejects and Late are current: what the
// tracking rows said when a run was planned, plus what its workers and later ones have folded since. They may lack what
// workers have not written yet, and never decrease.
func Totals(runs []RunFigures) (total schema.MonthFigures) {
	newest := map[schema.Month]schema.MonthFigures{}
	for _, r := range runs {
		maps.Copy(newest, r.ByMonth)
	}
	for _, m := range newest {
		total.Add(m)
	}
	var since, after schema.WorkerFigures // of the runs from this one on, and of those after it
	for i := len(runs) - 1; i >= 0; i-- {
		r := runs[i]
		after = since
		since.Add(r.Workers)
		if len(r.ByMonth) < len(newest) {
			continue // its sum lacks months
		}
		own := since
		if r.Months.Again > 0 {
			own = after
		}
		total.Rows = max(total.Rows, r.Months.Rows+own.Rows+own.Late)
		total.Rejects = max(total.Rejects, r.Months.Rejects+own.Refused)
		total.Late = max(total.Late, r.Months.Late+own.Late)
	}
	total.Dropped = max(total.Dropped, total.Rejects-total.Devices*schema.RejectSlots)
	return total
}

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
