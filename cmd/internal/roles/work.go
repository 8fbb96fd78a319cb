package roles

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"furrow/cmd/internal/monitor"
	"furrow/sas"
	"furrow/tables/schema"
	"furrow/worker"

	"github.com/google/uuid"
)

// A Work configures a worker.
type Work struct {
	Name  string        // in figures and in the poison queue
	Size  int           // most concurrent jobs of each pipeline; zero: the pool's default
	Lease time.Duration // zero: the pool's default
	// Figures count what is done. They are written until the last pool has ended.
	Figures *worker.Figures
	// OnResult is called with the outcome of each message. It may be nil.
	OnResult func(schema.Pipeline, worker.Result)
	// Monitor counts what jobs do. It may be nil.
	Monitor *monitor.Monitor
	// IdleExit ends the worker when it has had no job for so long; zero: never.
	IdleExit time.Duration
}

// WorkerName returns a unique name.
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
	runs := []func(context.Context) error{}
	admitted := &admission{enrollments: &sas.Enrollments{Table: f.Tables.Table(f.Names.Enrollments())}, log: f.Log}
	if err := admitted.read(ctx); err != nil {
		return IgnoreCanceled(ctx, err)
	}
	runs = append(runs, admitted.run)
	if f.Stored != nil {
		runs = append(runs, f.Stored.Run)
	}
	role := newWorkerRole(w, admitted)
	runs = append(runs, func(ctx context.Context) error { return role.run(ctx, f) })
	if w.IdleExit > 0 {
		runs = append(runs, func(ctx context.Context) error { role.waitIdle(ctx, w.IdleExit); cancel(); return nil })
	}
	f.Log.InfoContext(ctx, "worker started", "worker", w.Name, "generation", f.Generation, "pipelines", f.pipelineNames())
	ended := w.writeFigures(ctx)
	err := Together(ctx, runs...)
	ended()
	f.Log.InfoContext(ctx, "worker ended", role.outcomes()...)
	return err
}

// writeFigures writes figures until ended is called after the last pool.
func (w Work) writeFigures(ctx context.Context) (ended func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var writing sync.WaitGroup
	writing.Go(func() { _ = w.Figures.Run(ctx) }) // it logs what goes wrong, and returns nil
	return func() { cancel(); writing.Wait() }
}

// idlePause is the longest pause between two polls of an empty queue: a sixth of the cadence, so that a run does not
// wait long.
func idlePause(cadence time.Duration) time.Duration {
	return min(max(cadence/6, time.Second), 30*time.Second)
}

// idleness measures how long there has been no job.
type idleness struct {
	mu    sync.Mutex
	jobs  int
	since time.Time
}

// busy is called when a job begins, and end when it ends.
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

// left returns how long it takes until there has been no job for d.
func (i *idleness) left(d time.Duration) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.jobs > 0 {
		return d
	}
	return time.Until(i.since.Add(d))
}
