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

// Figures count what a worker does, by run, and write the sums to the table runs. Several pools may share them. They
// are safe for concurrent use and must not be copied.
//
// A pool also calls its queue when no job asks for it: to get, renew and delete messages. If the pool's context comes
// from Within with slot zero, those operations count for the run in which the worker is most active.
type Figures struct {
	Runs   Runs
	Worker string // its ID: new for each start, and valid in a key
	// Every is the longest time between two writes; 0 means 5 s. What a Scheduler waits for is written within a second.
	Every time.Duration
	Log   *slog.Logger // nil means slog.Default()

	mu      sync.Mutex
	tallies map[ofRun]*tally
	parts   int64         // number of tallies so far
	changes int64         // changes so far, in all tallies
	urgent  chan struct{} // holds a token after a job of a run has ended
}

// An ofRun is the run that an operation belongs to. Slot zero stands for the pipeline.
type ofRun struct {
	pipeline schema.Pipeline
	slot     tables.Ticks
}

// A tally counts what was done for one run. If it is removed from memory and started again, it becomes another part of
// the worker's figures.
type tally struct {
	figures schema.WorkerFigures
	changed int64 // value of Figures.changes at the last change
	dirty   bool  // it has changed since it was written
	planned int64 // device messages that month jobs have put here
	logged  bool
}

const (
	talliesKept  = 32   // in memory, once they are written
	talliesAtAll = 1000 // in memory, if they cannot be written

	flushTimeout = 10 * time.Second
)

type ofRunKey struct{}

// Within returns a context in which operations count for a run. Slot zero stands for whatever run of the pipeline the
// worker is doing.
func (f *Figures) Within(ctx context.Context, p schema.Pipeline, slot tables.Ticks) context.Context {
	return context.WithValue(ctx, ofRunKey{}, ofRun{p, slot})
}

// CountTable counts a table operation. Use it as OnOperation of a tables.Config.
func (f *Figures) CountTable(ctx context.Context, o tables.Operation) {
	f.operation(ctx, "tables "+o.Kind.String())
}

// CountQueue counts a queue operation. Use it as OnOperation of a Config.
func (f *Figures) CountQueue(ctx context.Context, o Operation) {
	f.operation(ctx, "queues "+o.Kind.String())
}

// CountObject counts an operation on an object. The kind is in lower case.
func (f *Figures) CountObject(ctx context.Context, kind string) {
	f.operation(ctx, "objects "+kind)
}

func (f *Figures) operation(ctx context.Context, name string) {
	of, ok := ctx.Value(ofRunKey{}).(ofRun)
	if !ok {
		return
	}
	f.change(of, func(t *tally) { t.figures.Operations[name]++ })
}

// change changes the figures of a run.
func (f *Figures) change(of ofRun, do func(*tally)) {
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
	do(t)
	t.changed, t.dirty = f.changes, true
}

// Run writes changed figures until ctx ends, and once more after that, and returns nil. Stop the pools first, so that
// the last write has everything.
func (f *Figures) Run(ctx context.Context) error {
	if err := f.check(); err != nil {
		return err
	}
	// The end cancels no write: storage could still get that, and replace by it what was written last.
	writing := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		f.awaitFlush(ctx)
		if ctx.Err() == nil {
			f.flush(writing)
		}
	}
	f.assign(true)
	f.flush(writing)
	return nil
}

func (f *Figures) check() error {
	if f.Runs.Table == nil || f.Worker == "" || strings.Contains(f.Worker, schema.Separator) {
		return errors.New("figures: Runs, and a Worker whose name has no " + schema.Separator + ", are needed")
	}
	return tables.CheckKey(f.Worker)
}

// flush writes the changed figures, one row for each run, and removes figures from memory that have not changed for
// long. Failed writes are repeated later.
func (f *Figures) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	f.assign(false)
	f.logRuns(ctx)
	var failed []ofRun
	var why error
	for of, figures := range f.dirty() {
		if err := f.write(ctx, figures); err != nil {
			failed, why = append(failed, of), err
		}
	}
	lost := f.putAside(failed)
	if why != nil || lost > 0 {
		cmp.Or(f.Log, slog.Default()).WarnContext(ctx, "figures of runs could not be written; jobs are not affected",
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

// dirty returns copies of the figures to write. They include the operation of writing them.
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

// assign adds operations without a run to the run of the same pipeline that changed last, if that one is written anyway
// or if must is true.
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

// putAside removes written figures that have not changed for long, and the oldest ones if too many cannot be written.
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
