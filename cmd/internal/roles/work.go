package roles

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"furrow/sas"
	"furrow/tables/schema"
	"furrow/worker"

	"github.com/google/uuid"
)

// A Work says how a worker works.
type Work struct {
	Name  string        // in figures and the poison queue; empty makes one of the host's name
	Size  int           // most jobs in flight in each pipeline; zero is the pool's default
	Lease time.Duration // zero is the pool's default
	// Figures are told what is done; they are written as long as there is work.
	Figures *worker.Figures
	// OnResult is told how each message ended; nil means nobody is.
	OnResult func(schema.Pipeline, worker.Result)
	// IdleExit ends the work when no message came for so long; zero means never.
	IdleExit time.Duration
}

// WorkerName is a name that no other worker has.
func WorkerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%s", host, uuid.NewString()[:8])
}

// Work runs a pool for each pipeline until ctx ends, and returns nil then.
func (f *Fleet) Work(ctx context.Context, w Work) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle := &idleness{since: time.Now()}
	runs := []func(context.Context) error{}
	if w.IdleExit > 0 {
		runs = append(runs, func(ctx context.Context) error { idle.wait(ctx, w.IdleExit); cancel(); return nil })
	}
	admitted := &admission{enrollments: &sas.Enrollments{Table: f.Tables.Table(f.Names.Enrollments())}, log: f.Log}
	if err := admitted.read(ctx); err != nil {
		return IgnoreCanceled(ctx, err)
	}
	runs = append(runs, admitted.run)
	if f.Stored != nil {
		runs = append(runs, f.Stored.Run)
	}
	crew := newWorkerRole(w, idle, admitted)
	runs = append(runs, func(ctx context.Context) error { return crew.run(ctx, f) })
	f.Log.InfoContext(ctx, "a worker begins", "worker", w.Name, "generation", f.Generation, "pipelines", f.pipelineNames())
	ended := w.writeFigures(ctx)
	err := Together(ctx, runs...)
	ended()
	f.Log.InfoContext(ctx, "the worker has ended", crew.ended.log()...)
	return err
}

// writeFigures writes the figures until what it returns is called, which is when
// the pools have ended: so theirs are all written.
func (w Work) writeFigures(ctx context.Context) (ended func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var writing sync.WaitGroup
	writing.Go(func() { _ = w.Figures.Run(ctx) }) // it logs what goes wrong, and returns nil
	return func() { cancel(); writing.Wait() }
}

// idlePause is the longest pause between two looks into an empty queue: a sixth of
// the cadence, so that a run does not wait long for somebody to see it.
func idlePause(cadence time.Duration) time.Duration {
	return min(max(cadence/6, time.Second), 30*time.Second)
}

// idleness knows since when nothing is done.
type idleness struct {
	mu    sync.Mutex
	jobs  int
	since time.Time
}

// busy is called when a job begins, and what it returns when it ends.
func (i *idleness) busy() (end func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.jobs++
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.jobs--
		i.since = time.Now()
	}
}

// left is how long it is until nothing was done for d.
func (i *idleness) left(d time.Duration) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.jobs > 0 {
		return d
	}
	return time.Until(i.since.Add(d))
}

// wait returns when nothing was done for d, or when ctx ends.
func (i *idleness) wait(ctx context.Context, d time.Duration) {
	for left := d; left > 0; left = i.left(d) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(left):
		}
	}
}
