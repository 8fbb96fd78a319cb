package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// Figures sum what a worker does, by the runs that it does it for, and leave the
// sums in the table runs. They may serve several pools; they are safe for
// concurrent use, and must not be copied.
//
// What a pool asks of its queue when no job asks for it (to get, to renew, to
// delete) is counted to the run that the worker has most to do with, if the pool
// runs within a context that has slot zero.
type Figures struct {
	Runs   Runs
	Worker string // its id: new whenever one starts, and fit for a key
	// longest time between two writes; 0 means 5 s. What a Scheduler waits for is written within a
	// second
	Every time.Duration
	Log   *slog.Logger // nil means slog.Default()

	mu      sync.Mutex
	tallies map[ofRun]*tally
	parts   int64         // tallies so far
	changes int64         // so far, in all tallies
	urgent  chan struct{} // holds one after a job of a run has ended
}

// An ofRun says what an operation is done for. Slot zero is the pipeline.
type ofRun struct {
	pipeline schema.Pipeline
	slot     tables.Ticks
}

// A tally is what was done for one run. The figures of one that was put aside
// and begun anew are another part of the worker's.
type tally struct {
	figures schema.WorkerFigures
	changed int64 // when, as Figures.changes counts
	dirty   bool  // there is more than was written
}

const (
	talliesKept  = 32   // in memory, when they are written
	talliesAtAll = 1000 // where they cannot be written
)

type ofRunKey struct{}

// Within is a context in which operations are counted to a run; slot zero is
// whatever run of the pipeline the worker is at.
func (f *Figures) Within(ctx context.Context, p schema.Pipeline, slot tables.Ticks) context.Context {
	return context.WithValue(ctx, ofRunKey{}, ofRun{p, slot})
}

// CountTable is made for the OnOperation of a tables.Config.
func (f *Figures) CountTable(ctx context.Context, o tables.Operation) {
	f.operation(ctx, "tables "+o.Kind.String())
}

// CountQueue is made for the OnOperation of a Config.
func (f *Figures) CountQueue(ctx context.Context, o Operation) {
	f.operation(ctx, "queues "+o.Kind.String())
}

// CountObject counts an operation with an object, whose kind is in small letters.
func (f *Figures) CountObject(ctx context.Context, kind string) {
	f.operation(ctx, "objects "+kind)
}

func (f *Figures) operation(ctx context.Context, name string) {
	of, ok := ctx.Value(ofRunKey{}).(ofRun)
	if !ok {
		return
	}
	f.change(of, func(w *schema.WorkerFigures) { w.Operations[name]++ })
}

// change changes the figures of a run.
func (f *Figures) change(of ofRun, do func(*schema.WorkerFigures)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.tallies[of]
	if t == nil {
		t = &tally{figures: schema.WorkerFigures{Pipeline: of.pipeline, Slot: of.slot, Worker: f.Worker, Part: f.parts,
			Jobs: map[string]int64{}, Operations: map[string]int64{}}}
		if f.tallies == nil {
			f.tallies = map[ofRun]*tally{}
		}
		f.tallies[of] = t
		f.parts++
	}
	f.changes++
	do(&t.figures)
	t.changed, t.dirty = f.changes, true
}

// Run writes what has changed, again and again until ctx ends and once more
// then, and returns nil. To have all figures, end the pools before.
func (f *Figures) Run(ctx context.Context) error {
	if err := f.check(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		f.awaitFlush(ctx)
		if ctx.Err() == nil {
			f.flush(ctx)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	f.assign(true)
	f.flush(last)
	return nil
}

func (f *Figures) check() error {
	if f.Runs.Table == nil || f.Worker == "" || strings.Contains(f.Worker, schema.Separator) {
		return errors.New("figures: Runs, and a Worker whose name has no " + schema.Separator + ", are needed")
	}
	return tables.CheckKey(f.Worker)
}

// flush writes the figures that have changed, one row a run, and puts aside
// those that have not for long. What could not be written is tried again.
func (f *Figures) flush(ctx context.Context) {
	f.assign(false)
	var failed []ofRun
	var why error
	for of, figures := range f.dirty() {
		if err := f.write(ctx, figures); err != nil {
			failed, why = append(failed, of), err
		}
	}
	lost := f.putAside(failed)
	if why != nil && ctx.Err() == nil || lost > 0 {
		cmp.Or(f.Log, slog.Default()).WarnContext(ctx, "figures of runs could not be written; jobs are not concerned",
			"runs", len(failed), "given up", lost, "error", why)
	}
}

func (f *Figures) write(ctx context.Context, w schema.WorkerFigures) error {
	e, err := w.Entity()
	if err != nil {
		return err
	}
	_, err = f.Runs.Table.Do(ctx, tables.InsertOrReplace(e))
	return err
}

// dirty are copies of the figures to write, which count their own writing.
func (f *Figures) dirty() map[ofRun]schema.WorkerFigures {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[ofRun]schema.WorkerFigures{}
	for of, t := range f.tallies {
		if !t.dirty || of.slot == 0 {
			continue
		}
		t.dirty = false
		t.figures.Operations["tables "+tables.KindInsertOrReplace.String()]++
		w := t.figures
		w.Jobs, w.Operations = maps.Clone(w.Jobs), maps.Clone(w.Operations)
		out[of] = w
	}
	return out
}

// assign counts what was done for no run in particular to the one that the
// pipeline has changed last, if that is to be written anyway, or must be.
func (f *Figures) assign(must bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for of, t := range f.tallies {
		last := f.newest(of.pipeline)
		if of.slot != 0 || last == nil || !last.dirty && !must {
			continue
		}
		for name, n := range t.figures.Operations {
			last.figures.Operations[name] += n
		}
		last.dirty = true
		delete(f.tallies, of)
	}
}

func (f *Figures) newest(p schema.Pipeline) (last *tally) {
	for of, t := range f.tallies {
		if of.pipeline == p && of.slot != 0 && (last == nil || t.changed > last.changed) {
			last = t
		}
	}
	return last
}

// putAside forgets the figures that are written and have not changed for long,
// and, where storage takes none, those that are too many.
func (f *Figures) putAside(failed []ofRun) (lost int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, of := range failed {
		f.tallies[of].dirty = true
	}
	newestFirst := slices.SortedFunc(maps.Keys(f.tallies), func(a, b ofRun) int {
		return cmp.Compare(f.tallies[b].changed, f.tallies[a].changed)
	})
	for i, of := range newestFirst {
		dirty := f.tallies[of].dirty
		if of.slot == 0 || i < talliesKept || dirty && i < talliesAtAll {
			continue
		}
		delete(f.tallies, of)
		if dirty {
			lost++
		}
	}
	return lost
}
