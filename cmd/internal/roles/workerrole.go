package roles

import (
	"context"
	"fmt"
	"sync"

	"furrow/cmd/internal/config"
	"furrow/jobs"
	"furrow/tables/schema"
	"furrow/worker"
)

// A workerRole is the pools of a worker: one for each pipeline of the newest configuration
// that it has taken on. A pool of a pipeline that stays goes on through changes: each
// message is done under the newest configuration, and what has begun ends as it is.
type workerRole struct {
	work     Work
	idle     *idleness
	admitted *admission

	running sync.WaitGroup
	places  map[schema.Pipeline]*place // of pools that run
	ended   endings

	mu    sync.Mutex
	taken taken
	newer chan struct{} // closed when taken has become another
}

func newWorkerRole(w Work, idle *idleness, admitted *admission) *workerRole {
	return &workerRole{work: w, idle: idle, admitted: admitted, places: map[schema.Pipeline]*place{},
		newer: make(chan struct{})}
}

// taken is what a crew works under.
type taken struct {
	fleet *Fleet
	built map[schema.Pipeline]*jobs.Pipeline
}

// A place is a pool that runs.
type place struct {
	pool *worker.Pool
	stop context.CancelFunc
}

// run works under one configuration after the other until ctx ends.
func (c *workerRole) run(ctx context.Context, f *Fleet) error {
	defer c.running.Wait()
	first, err := c.build(f)
	if err != nil {
		return err
	}
	c.take(ctx, first)
	for ctx.Err() == nil {
		next := f.next(ctx)
		if next == f {
			continue // ctx has ended
		}
		f = next
		built, err := c.build(f)
		if err != nil { // of one pipeline; the others go on
			f.Log.ErrorContext(ctx, "pipeline cannot run", "generation", f.Generation, "error", err)
		}
		c.take(ctx, built)
	}
	return nil
}

// build builds the pipelines of a fleet as their jobs need them; those that cannot
// be built are left out, and the error says why.
func (c *workerRole) build(f *Fleet) (t taken, err error) {
	t = taken{f, map[schema.Pipeline]*jobs.Pipeline{}}
	for _, p := range f.Pipelines {
		built, wrong := f.Jobs(p)
		if wrong != nil {
			err = wrong
			continue
		}
		built.Admits, built.Hold = c.admitted.of, c.work.Lease
		t.built[p.Name] = built
	}
	return t, err
}

// take makes a configuration the one that jobs are done under, starts the pools that
// it has and the crew has not, and stops those that it does not have any more.
func (c *workerRole) take(ctx context.Context, t taken) {
	c.mu.Lock()
	c.taken = t
	close(c.newer)
	c.newer = make(chan struct{})
	c.mu.Unlock()
	for name, there := range c.places {
		if t.built[name] == nil {
			t.fleet.Log.InfoContext(ctx, "pool stops", "pipeline", name, "generation", t.fleet.Generation)
			there.stop()
			delete(c.places, name)
		}
	}
	for _, p := range t.fleet.Pipelines {
		if t.built[p.Name] == nil {
			continue
		}
		if there := c.places[p.Name]; there != nil {
			there.pool.SetIdle(idlePause(p.Cadence))
		} else {
			c.places[p.Name] = c.start(ctx, t.fleet, p)
		}
	}
}

// start starts a pool.
func (c *workerRole) start(ctx context.Context, f *Fleet, p config.Pipeline) *place {
	pool := c.pool(f, p)
	ctx, stop := context.WithCancel(c.work.Figures.Within(ctx, p.Name, 0))
	c.running.Go(func() {
		if err := pool.Run(ctx); err != nil {
			f.Log.ErrorContext(ctx, "pool could not run", "pipeline", p.Name, "error", err)
		}
		stop()
		c.ended.add(pool)
	})
	return &place{pool, stop}
}

// pool is one that does the jobs of a pipeline, each under the newest configuration.
func (c *workerRole) pool(f *Fleet, p config.Pipeline) *worker.Pool {
	w, queue := c.work, f.Queue(p)
	pool := &worker.Pool{Source: queue, Name: w.Name, Size: w.Size, Lease: w.Lease, Idle: idlePause(p.Cadence),
		Log: f.Log.With("pipeline", p.Name)}
	pool.Work = func(ctx context.Context, m jobs.Message, save func(context.Context, jobs.Message) error) error {
		defer c.idle.busy()()
		pipeline, err := c.pipeline(ctx, p.Name, m.Generation)
		if err != nil {
			return err
		}
		r, err := w.Figures.Do(ctx, pipeline, m, queue, save)
		for d, why := range r.Failed {
			pool.Log.WarnContext(ctx, "a device failed", "device", d, "error", why)
		}
		return err
	}
	pool.OnResult = func(r worker.Result) {
		w.Figures.Ended(r)
		if w.OnResult != nil {
			w.OnResult(p.Name, r)
		}
	}
	return pool
}

// pipeline is a pipeline under the newest configuration, which is at least of a
// generation: a worker that meets a message of a newer one loads that first. The
// error has jobs.ErrNewer in its chain where that cannot be done yet.
func (c *workerRole) pipeline(ctx context.Context, name schema.Pipeline, generation int64) (*jobs.Pipeline, error) {
	for {
		c.mu.Lock()
		now, newer := c.taken, c.newer
		c.mu.Unlock()
		built := now.built[name]
		switch {
		case built != nil && built.Generation >= generation:
			return built, nil
		case built == nil: // its pool is being stopped
			<-ctx.Done()
			return nil, context.Cause(ctx)
		case now.fleet.Stored == nil:
			return nil, fmt.Errorf("%w: generation %d, and this worker has %d", jobs.ErrNewer, generation, now.fleet.Generation)
		}
		if err := now.fleet.Stored.Reach(ctx, generation); err != nil {
			return nil, fmt.Errorf("%w: %w", jobs.ErrNewer, err)
		}
		select {
		case <-newer:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// endings are how many jobs have ended in each way.
type endings struct {
	mu     sync.Mutex
	counts map[worker.Outcome]int64
}

func (e *endings) add(p *worker.Pool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.counts == nil {
		e.counts = map[worker.Outcome]int64{}
	}
	for _, o := range outcomes() {
		e.counts[o] += p.Outcomes.Of(o)
	}
}

// log are the endings for a log.
func (e *endings) log() (args []any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, o := range outcomes() {
		if n := e.counts[o]; n > 0 || o == worker.OutcomeDone {
			args = append(args, o.String(), n)
		}
	}
	return args
}

func outcomes() []worker.Outcome {
	return []worker.Outcome{worker.OutcomeDone, worker.OutcomeFailed, worker.OutcomePoisoned, worker.OutcomeLost,
		worker.OutcomeReleased}
}
