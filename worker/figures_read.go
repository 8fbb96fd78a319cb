package worker

import (
	"cmp"
	"context"
	"slices"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
)

// RunFigures are the sums of what the jobs of a run have counted. Workers write them every few seconds; a killed worker
// has not written its last ones.
type RunFigures struct {
	Run     schema.Run // only its keys, if its row was not read or does not exist
	Months  schema.MonthFigures
	Planned int // months that have figures
	ByMonth map[schema.Month]schema.MonthFigures
	Workers schema.WorkerFigures
	Seen    map[string]time.Time // when each worker ended its last job of the run, by its clock
}

// BatchesDone returns the number of device messages that succeeded or became poison.
func (r RunFigures) BatchesDone() int64 { return r.ended(jobs.Device) }

func (r RunFigures) ended(k jobs.Kind) int64 {
	return r.Workers.Jobs[string(k)+" "+OutcomeDone.String()] + r.Workers.Jobs[string(k)+" "+OutcomePoisoned.String()]
}

// Done reports whether the run is known to be over: every month is planned, and every batch succeeded or became poison,
// including those that batches put for devices far behind. Audits may still be under way. It is meant for display: if a
// worker was killed, its run may never be reported as done.
func (r RunFigures) Done() bool {
	return r.ended(jobs.Master) > 0 && r.ended(jobs.Month) >= r.Workers.Months &&
		r.BatchesDone() >= r.Months.Batches+r.Workers.Again
}

// Unfinished returns how many batches of the run are not done yet, including parts of split ones. Before the run is
// planned, planned is false and the number is not known.
func (r RunFigures) Unfinished() (batches int64, planned bool) {
	months := max(r.ended(jobs.Month), int64(r.Planned)) // a month that became poison leaves no figures
	return max(0, r.Months.Batches+r.Workers.Parts-r.Workers.Batches), r.ended(jobs.Master) > 0 &&
		months >= r.Workers.Months
}

// ByHand reports whether the run consists of audits alone, as furrow audit run starts it.
func (r RunFigures) ByHand() bool { return r.Months.Audits > 0 && r.Months.Batches == 0 }

// Audits returns how many audit messages the run has put so far, and how many of them succeeded or became poison.
func (r RunFigures) Audits() (put, done int64) {
	return r.Months.Audits + r.Workers.Audits, r.ended(jobs.Audit)
}

// Audited reports whether every month is known to be planned and every audit to be done.
func (r RunFigures) Audited() bool {
	put, done := r.Audits()
	return r.ended(jobs.Master) > 0 && r.ended(jobs.Month) >= r.Workers.Months && done >= put
}

// Took returns the time from the start of the first job to the end of the last batch so far, by the workers' clocks.
func (r RunFigures) Took() time.Duration {
	return max(0, r.Workers.Last.Time().Sub(r.Workers.First.Time()))
}

// LastDone returns the newest run that is over. The oldest run comes first in runs.
func LastDone(runs []RunFigures) (RunFigures, bool) {
	for _, r := range slices.Backward(runs) {
		if r.Done() && !r.ByHand() {
			return r, true
		}
	}
	return RunFigures{}, false
}

// Figures reads the figures of one run with one query. Run has only its keys.
func (r Runs) Figures(ctx context.Context, p schema.Pipeline, slot tables.Ticks) (RunFigures, error) {
	one := RunFigures{Run: schema.Run{Pipeline: p, Slot: slot}}
	_, err := r.figures(ctx, tables.Partition(schema.FiguresPartition(p, slot)),
		func(tables.Ticks) *RunFigures { return &one })
	return one, err
}

// FiguresSince reads a pipeline's runs from a slot on, the oldest first, with their figures and the time of the
// service. It takes two queries.
func (r Runs) FiguresSince(ctx context.Context, p schema.Pipeline, slot tables.Ticks) ([]RunFigures, time.Time, error) {
	rows, now, err := r.Since(ctx, p, slot)
	if err != nil {
		return nil, now, err
	}
	return r.withFigures(ctx, p, slot, rows)
}

// FiguresAlone returns the figures of a pipeline's runs from a slot on, the oldest first; Run has its keys alone. It
// takes one query.
func (r Runs) FiguresAlone(ctx context.Context, p schema.Pipeline, slot tables.Ticks) ([]RunFigures, error) {
	all, _, err := r.withFigures(ctx, p, slot, nil)
	return all, err
}

func (r Runs) withFigures(
	ctx context.Context, p schema.Pipeline, slot tables.Ticks, runs []schema.Run,
) ([]RunFigures, time.Time, error) {
	bySlot := map[tables.Ticks]*RunFigures{}
	for _, run := range runs {
		bySlot[run.Slot] = &RunFigures{Run: run}
	}
	since := tables.Range{Partitions: schema.FiguresSince(p, slot)}
	now, err := r.figures(ctx, since, func(slot tables.Ticks) *RunFigures {
		if bySlot[slot] == nil { // its master job was put by hand
			bySlot[slot] = &RunFigures{Run: schema.Run{Pipeline: p, Slot: slot}}
		}
		return bySlot[slot]
	})
	var all []RunFigures
	for _, f := range bySlot {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b RunFigures) int { return cmp.Compare(a.Run.Slot, b.Run.Slot) })
	return all, now, err
}

// figures adds the figures in a range to their runs.
func (r Runs) figures(ctx context.Context, in tables.Range, of func(slot tables.Ticks) *RunFigures) (now time.Time,
	err error) {
	for page, err := range r.Table.Rows(ctx, tables.Query{Range: in}) {
		if err != nil {
			return now, err
		}
		now = page.Time
		for _, e := range page.Rows {
			if err := addFigures(e, of); err != nil && !r.skip(e, err) {
				return now, err
			}
		}
	}
	return now, nil
}

// addFigures adds a row of figures to its run. It skips rows of other kinds, which a newer version may have written.
func addFigures(e tables.Entity, of func(slot tables.Ticks) *RunFigures) error {
	switch {
	case schema.IsMonthFigures(e):
		m, err := schema.MonthFiguresOf(e)
		if err != nil {
			return err
		}
		of(m.Slot).AddMonth(m)
	case schema.IsWorkerFigures(e):
		w, err := schema.WorkerFiguresOf(e)
		if err != nil {
			return err
		}
		run := of(w.Slot)
		run.Workers.Add(w)
		if run.Seen == nil {
			run.Seen = map[string]time.Time{}
		}
		if seen := w.Last.Time(); seen.After(run.Seen[w.Worker]) {
			run.Seen[w.Worker] = seen
		}
	}
	return nil
}
