package roles

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"furrow/cmd/internal/config"
	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/tables/schema"
	"furrow/worker"
)

// A workerRole runs a pool for each pipeline of the newest configuration. The pool of a pipeline that stays keeps
// running through changes: each job uses the newest configuration when it begins.
type workerRole struct {
	work     Work
	idle     *idleness
	admitted *admission

	began   chan struct{} // closed when the first pools have started
	running sync.WaitGroup
	pools   map[schema.Pipeline]*runningPool
	started []*worker.Pool // all, also those that have ended

	mu     sync.Mutex
	urgent []*worker.Pool // of pipelines that fold
	taken  taken
	newer  chan struct{} // closed when taken changes
}

func newWorkerRole(w Work, admitted *admission) *workerRole {
	return &workerRole{work: w, idle: &idleness{since: time.Now()}, admitted: admitted, began: make(chan struct{}),
		pools: map[schema.Pipeline]*runningPool{}, newer: make(chan struct{})}
}

// taken is the configuration that jobs use.
type taken struct {
	fleet *Fleet
	built map[schema.Pipeline]*jobs.Pipeline
}

type runningPool struct {
	pool *worker.Pool
	stop context.CancelFunc
}

// run runs pools with one configuration after the other until ctx ends.
func (c *workerRole) run(ctx context.Context, f *Fleet) error {
	defer c.running.Wait()
	first, err := c.build(f)
	if err != nil {
		return err
	}
	c.take(ctx, first)
	close(c.began)
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

// build builds the pipelines of a fleet without those that cannot be built, and returns the last error.
func (c *workerRole) build(f *Fleet) (t taken, err error) {
	t = taken{f, map[schema.Pipeline]*jobs.Pipeline{}}
	for _, p := range f.Pipelines {
		built, wrong := f.Jobs(p)
		if wrong != nil {
			err = wrong
			continue
		}
		built.Admits, built.Hold = c.admitted.of, c.work.Lease
		if m := c.work.Monitor; m != nil {
			built.OnFold = func(f fold.Folded) { m.CountFold(p.Name, f) }
			m.Works(built)
		}
		if built.Retention != nil {
			built.Retention.GiveWay = c.giveWay
		}
		t.built[p.Name] = built
	}
	return t, err
}

// take makes t the configuration that jobs use, starts the pools of new pipelines and stops those of removed ones.
func (c *workerRole) take(ctx context.Context, t taken) {
	c.mu.Lock()
	c.taken = t
	close(c.newer)
	c.newer = make(chan struct{})
	c.mu.Unlock()
	for name, running := range c.pools {
		if t.built[name] == nil {
			t.fleet.Log.InfoContext(ctx, "pool stopping", "pipeline", name, "generation", t.fleet.Generation)
			running.stop()
			delete(c.pools, name)
		}
	}
	for _, p := range t.fleet.Pipelines {
		if t.built[p.Name] == nil {
			continue
		}
		if running := c.pools[p.Name]; running != nil {
			running.pool.SetIdle(idlePause(p.Cadence))
		} else {
			c.pools[p.Name] = c.start(ctx, t.fleet, p)
		}
	}
}

func (c *workerRole) start(ctx context.Context, f *Fleet, p config.Pipeline) *runningPool {
	pool := c.pool(f, p)
	c.mu.Lock()
	c.started = append(c.started, pool)
	if !p.Retains() {
		c.urgent = append(c.urgent, pool)
	}
	c.mu.Unlock()
	ctx, stop := context.WithCancel(c.work.Figures.Within(ctx, p.Name, 0))
	c.running.Go(func() {
		if err := pool.Run(ctx); err != nil {
			f.Log.ErrorContext(ctx, "pool failed", "pipeline", p.Name, "error", err)
		}
		stop()
	})
	return &runningPool{pool, stop}
}

// pool returns a pool that does the jobs of a pipeline, each with the newest configuration.
func (c *workerRole) pool(f *Fleet, p config.Pipeline) *worker.Pool {
	w, queue := c.work, f.Queue(p)
	pool := &worker.Pool{Source: queue, Name: w.Name, Size: w.Size, Lease: w.Lease, Idle: idlePause(p.Cadence),
		Log: f.Log.With("pipeline", p.Name)}
	if p.Retains() {
		pool.Size = 1
	}
	pool.Work = func(ctx context.Context, m jobs.Message, save func(context.Context, jobs.Message) error) error {
		defer c.idle.busy()()
		pipeline, err := c.pipeline(ctx, p.Name, m.Generation)
		if err != nil {
			return err
		}
		ctx, end := f.Tracer.Job(ctx, m)
		r, err := w.Figures.Do(ctx, pipeline, m, queue, save)
		end(r, err)
		if w.Monitor != nil {
			w.Monitor.CountWork(m, r)
		}
		for d, why := range r.Failed {
			pool.Log.WarnContext(ctx, "device failed", "device", d, "error", why)
		}
		for row, why := range r.Strange {
			pool.Log.WarnContext(ctx, "row skipped", "row", row, "error", why)
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

// Retention waits so long, at most, before each device while jobs of other pipelines run here.
const (
	givesWay = 3 * time.Second
	lookAway = 100 * time.Millisecond
)

// giveWay waits until no pool of a pipeline that folds has a job, or for a while.
func (c *workerRole) giveWay(ctx context.Context) {
	for until := time.Now().Add(givesWay); time.Now().Before(until) && c.busy(); {
		select {
		case <-time.After(lookAway):
		case <-ctx.Done():
			return
		}
	}
}

func (c *workerRole) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.urgent, func(p *worker.Pool) bool { return p.InFlight() > 0 })
}

// waitIdle returns when there has been no job for d and the queues of all pools are empty, or when ctx ends.
func (c *workerRole) waitIdle(ctx context.Context, d time.Duration) {
	select {
	case <-c.began:
	case <-ctx.Done():
	}
	for left := d; ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-time.After(left):
		}
		if left = c.idle.left(d); left > 0 {
			continue
		}
		if c.empty(ctx) && c.idle.left(d) <= 0 {
			return
		}
		left = d
	}
}

func (c *workerRole) empty(ctx context.Context) bool {
	c.mu.Lock()
	pools := slices.Clone(c.started)
	c.mu.Unlock()
	return !slices.ContainsFunc(pools, func(p *worker.Pool) bool { return !p.Empty(ctx) })
}

// pipeline returns a pipeline with the newest configuration, which it loads first if the job's generation is newer.
// If that is not possible yet, the error wraps jobs.ErrNewer.
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

// outcomes returns how many jobs ended in each way, for a log. It is called after all pools have ended.
func (c *workerRole) outcomes() (args []any) {
	for _, o := range []worker.Outcome{worker.OutcomeDone, worker.OutcomeFailed, worker.OutcomePoisoned,
		worker.OutcomeLost, worker.OutcomeReleased} {
		n := int64(0)
		for _, p := range c.started {
			n += p.Outcomes.Of(o)
		}
		if n > 0 || o == worker.OutcomeDone {
			args = append(args, o.String(), n)
		}
	}
	return args
}
