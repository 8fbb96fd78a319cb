package worker

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"furrow/tables/schema"
)

// over reports whether the run needs nothing more from this worker, as far as it knows. A worker that shares a run with
// others does not know, and logs its part once the next run has begun.
func (t *tally) over() bool {
	w := t.figures
	ended := func(kind string) int64 {
		return w.Jobs[kind+" "+OutcomeDone.String()] + w.Jobs[kind+" "+OutcomePoisoned.String()]
	}
	return ended("master") > 0 && ended("month") >= w.Months && w.Batches >= t.planned+w.Parts
}

// logRuns logs a line for each run that is over.
func (f *Figures) logRuns(ctx context.Context) {
	f.mu.Lock()
	var over []schema.WorkerFigures
	for of, t := range f.tallies {
		if of.slot == 0 || t.logged {
			continue
		}
		next := func(other ofRun) bool { return other.pipeline == of.pipeline && other.slot > of.slot }
		if t.over() || slices.ContainsFunc(slices.Collect(maps.Keys(f.tallies)), next) {
			t.logged = true
			over = append(over, t.figures)
		}
	}
	f.mu.Unlock()
	slices.SortFunc(over, func(a, b schema.WorkerFigures) int {
		return cmp.Or(cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Pipeline, b.Pipeline))
	})
	for _, w := range over {
		log := cmp.Or(f.Log, slog.Default()).With("pipeline", w.Pipeline, "run", w.Slot.Time(), "devices", w.Devices, "rows",
			w.Rows)
		if w.Failed > 0 {
			log = log.With("failed", w.Failed)
		}
		if w.Refused > 0 {
			log = log.With("rejects", w.Refused)
		}
		if w.Last > w.First {
			log = log.With("took", w.Last.Time().Sub(w.First.Time()).Round(time.Millisecond))
		}
		log.InfoContext(ctx, "run completed")
	}
}
