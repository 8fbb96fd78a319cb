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

// RunFigures are what the jobs of a run have left behind, summed. Workers write
// theirs every few seconds, and one that was killed has left out its last ones.
type RunFigures struct {
	Run     schema.Run // its keys alone, where its row was not read or is not there
	Months  schema.MonthFigures
	Planned int // months whose figures are there
	ByMonth map[schema.Month]schema.MonthFigures
	Workers schema.WorkerFigures
	Seen    map[string]time.Time // when each worker ended its last job of the run, by its clock
}

// BatchesDone are the device messages that were done, or given up.
func (r RunFigures) BatchesDone() int64 { return r.ended(jobs.Device) }

func (r RunFigures) ended(k jobs.Kind) int64 {
	return r.Workers.Jobs[string(k)+" "+OutcomeDone.String()] + r.Workers.Jobs[string(k)+" "+OutcomePoisoned.String()]
}

// Done tells whether the run is over, as far as that is known: every month is
// planned, and every batch done or given up, with those that batches have put
// for devices far behind. Audits may be on their way yet. It is for people: where
// a worker was killed, it may never be said of its run.
func (r RunFigures) Done() bool {
	return r.ended(jobs.Master) > 0 && r.ended(jobs.Month) >= r.Workers.Months &&
		r.BatchesDone() >= r.Months.Batches+r.Workers.Again
}

// Unfinished is how many batches of the run are not done yet, parts of split ones
// included. Until the run is planned, their number is not known: planned is false.
func (r RunFigures) Unfinished() (batches int64, planned bool) {
	months := max(r.ended(jobs.Month), int64(r.Planned)) // a month that was given up leaves no figures
	return max(0, r.Months.Batches+r.Workers.Parts-r.Workers.Batches), r.ended(jobs.Master) > 0 &&
		months >= r.Workers.Months
}

// ByHand tells whether the run is one of audits alone, as furrow audit run asks for.
func (r RunFigures) ByHand() bool { return r.Months.Audits > 0 && r.Months.Batches == 0 }

// Audits are the audit messages that the run has put so far, and those of them that
// were done, or given up.
func (r RunFigures) Audits() (put, done int64) {
	return r.Months.Audits + r.Workers.Audits, r.ended(jobs.Audit)
}

// Audited tells whether every month is planned and every audit done, as far as that
// is known.
func (r RunFigures) Audited() bool {
	put, done := r.Audits()
	return r.ended(jobs.Master) > 0 && r.ended(jobs.Month) >= r.Workers.Months && done >= put
}

// Took is how long it was from the begin of the first job to the end of the last
// batch so far, by the workers' clocks.
func (r RunFigures) Took() time.Duration {
	return max(0, r.Workers.Last.Time().Sub(r.Workers.First.Time()))
}

// LastDone is the newest of runs, which are the oldest first, that is over.
func LastDone(runs []RunFigures) (RunFigures, bool) {
	for _, r := range slices.Backward(runs) {
		if r.Done() && !r.ByHand() {
			return r, true
		}
	}
	return RunFigures{}, false
}

// Figures are those of one run; it takes one query, and Run has its keys alone.
func (r Runs) Figures(ctx context.Context, p schema.Pipeline, slot tables.Ticks) (RunFigures, error) {
	one := RunFigures{Run: schema.Run{Pipeline: p, Slot: slot}}
	_, err := r.figures(ctx, tables.Partition(schema.FiguresPartition(p, slot)),
		func(tables.Ticks) *RunFigures { return &one })
	return one, err
}

// FiguresSince are a pipeline's runs from a slot on, the oldest first, each with
// its figures, and the time of the service. It takes two queries.
func (r Runs) FiguresSince(ctx context.Context, p schema.Pipeline, slot tables.Ticks) ([]RunFigures, time.Time, error) {
	rows, now, err := r.Since(ctx, p, slot)
	if err != nil {
		return nil, now, err
	}
	return r.withFigures(ctx, p, slot, rows)
}

// FiguresAlone returns the figures of a pipeline's runs from a slot on, the oldest first; Run has
// its keys alone. It takes one query.
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
	now, err := r.figures(ctx, tables.Range{Partitions: schema.FiguresSince(p, slot)}, func(slot tables.Ticks) *RunFigures {
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

// figures adds the figures in a range to those of their runs.
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

// addFigures adds a row's. Rows of other kinds are another version's, and passed.
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
