package roles

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"furrow/cmd/internal/monitor"
	"furrow/cmd/internal/tracing"
	"furrow/jobs"
	"furrow/jobs/fold"
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
	pools := &worker.Pools{Name: w.Name, Size: w.Size, Lease: w.Lease, Figures: w.Figures, Begin: w.begin(f.Tracer),
		OnResult: w.OnResult, Log: f.Log}
	runs = append(runs, func(ctx context.Context) error {
		first, err := w.configuration(f, pools, admitted)
		if err != nil {
			return err
		}
		return pools.Run(ctx, first, func(ctx context.Context) (next worker.Configuration, more bool) {
			before := f
			if f = f.next(ctx); f == before {
				return next, false
			}
			next, err := w.configuration(f, pools, admitted)
			if err != nil { // of one pipeline; the others go on
				f.Log.ErrorContext(ctx, "pipeline cannot run", "generation", f.Generation, "error", err)
			}
			return next, true
		})
	})
	if w.IdleExit > 0 {
		runs = append(runs, func(ctx context.Context) error { pools.WaitIdle(ctx, w.IdleExit); cancel(); return nil })
	}
	f.Log.InfoContext(ctx, "worker started", "worker", w.Name, "generation", f.Generation, "pipelines", f.pipelineNames())
	ended := w.writeFigures(ctx)
	err := Together(ctx, runs...)
	ended()
	f.Log.InfoContext(ctx, "worker ended", pools.Outcomes()...)
	return err
}

// configuration builds the pipelines of a fleet without those that cannot be built, and returns the last error.
func (w Work) configuration(f *Fleet, pools *worker.Pools, admitted *admission) (c worker.Configuration, err error) {
	if c.Generation = f.Generation; f.Stored != nil {
		c.Reach = f.Stored.Reach
	}
	for _, p := range f.Pipelines {
		built, wrong := f.Jobs(p)
		if wrong != nil {
			err = wrong
			continue
		}
		built.Admits, built.SendEvery, built.Others = admitted.ageFor, admitted.every, admitted.writtenByOthers
		built.Hold = w.Lease
		if m := w.Monitor; m != nil {
			built.OnFold = func(f fold.Folded) { m.CountFold(p.Name, f) }
			m.Works(built)
		}
		if built.Retention != nil {
			built.Retention.GiveWay = pools.GiveWay
		}
		c.Pipelines = append(c.Pipelines, worker.Assigned{Pipeline: built, Queue: f.Queue(p), Cadence: p.Cadence})
	}
	return c, err
}

// begin returns what begins the span of a job, and ends it and counts the job after it.
func (w Work) begin(t *tracing.Tracer) func(context.Context, jobs.Message) (context.Context, func(jobs.Result, error)) {
	return func(ctx context.Context, m jobs.Message) (context.Context, func(jobs.Result, error)) {
		ctx, end := t.Job(ctx, m)
		return ctx, func(r jobs.Result, err error) {
			if end(r, err); w.Monitor != nil {
				w.Monitor.CountWork(m, r)
			}
		}
	}
}

// writeFigures writes figures until ended is called after the last pool.
func (w Work) writeFigures(ctx context.Context) (ended func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var writing sync.WaitGroup
	writing.Go(func() { _ = w.Figures.Run(ctx) }) // it logs what goes wrong, and returns nil
	return func() { cancel(); writing.Wait() }
}
