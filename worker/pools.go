package worker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"furrow/jobs"
	"furrow/tables/schema"
)

// Pools do the jobs of a fleet: a pool for each pipeline of the newest configuration. The pool of a pipeline that stays
// keeps running through changes: each job uses the newest configuration when it begins. They can be run once.
type Pools struct {
	Name    string        // of this worker
	Size    int           // most concurrent jobs of each pipeline; zero: the pool's default
	Lease   time.Duration // zero: the pool's default
	Figures *Figures      // count what is done
	// Begin is called before a job, and what it returns after it.
	Begin    func(ctx context.Context, m jobs.Message) (context.Context, func(jobs.Result, error))
	OnResult func(schema.Pipeline, Result) // is called with the outcome of each message; may be nil
	Log      *slog.Logger

	idle    idleness
	running sync.WaitGroup
	pools   map[schema.Pipeline]*runningPool
	started []*Pool // all, also those that have ended

	mu     sync.Mutex
	urgent []*Pool // of pipelines that fold
	held   Configuration
	newer  chan struct{} // closed when held changes
}

// A Configuration is what pools work with.
type Configuration struct {
	Generation int64
	Pipelines  []Assigned
	// Reach waits until a generation is loaded, which pools are about to be given, or says why it is not. Where it is
	// nil, there is no other configuration.
	Reach func(ctx context.Context, generation int64) error
}

// An Assigned pipeline is one whose jobs a worker does.
type Assigned struct {
	*jobs.Pipeline
	Queue   *Queue
	Cadence time.Duration
}

func (c Configuration) pipeline(name schema.Pipeline) *Assigned {
	for i := range c.Pipelines {
		if c.Pipelines[i].Name == name {
			return &c.Pipelines[i]
		}
	}
	return nil
}

type runningPool struct {
	pool *Pool
	stop context.CancelFunc
}

// Run runs pools until ctx ends, with one configuration after the other: next waits for that which follows one, and
// returns false when ctx has ended before.
func (p *Pools) Run(ctx context.Context, c Configuration, next func(context.Context) (Configuration, bool)) error {
	defer p.running.Wait()
	for more := true; more; c, more = next(ctx) {
		p.adopt(ctx, c)
	}
	return nil
}

// adopt makes c the configuration that jobs use, starts the pools of new pipelines and stops those of removed ones.
func (p *Pools) adopt(ctx context.Context, c Configuration) {
	p.mu.Lock()
	if p.held = c; p.pools == nil {
		p.pools = map[schema.Pipeline]*runningPool{}
		p.idle.busy()()
	} else {
		close(p.newer)
	}
	p.newer = make(chan struct{})
	p.mu.Unlock()
	for name, running := range p.pools {
		if c.pipeline(name) == nil {
			p.Log.InfoContext(ctx, "pool stopping", "pipeline", name, "generation", c.Generation)
			running.stop()
			delete(p.pools, name)
		}
	}
	for _, a := range c.Pipelines {
		if running := p.pools[a.Name]; running != nil {
			running.pool.SetIdle(IdlePause(a.Cadence))
		} else {
			p.pools[a.Name] = p.start(ctx, a)
		}
	}
}

func (p *Pools) start(ctx context.Context, a Assigned) *runningPool {
	pool := p.poolOf(a)
	p.mu.Lock()
	p.started = append(p.started, pool)
	if a.Retention == nil {
		p.urgent = append(p.urgent, pool)
	}
	p.mu.Unlock()
	ctx, stop := context.WithCancel(p.Figures.Within(ctx, a.Name, 0))
	p.running.Go(func() {
		if err := pool.Run(ctx); err != nil {
			pool.Log.ErrorContext(ctx, "pool failed", "error", err)
		}
		stop()
	})
	return &runningPool{pool, stop}
}

// poolOf returns a pool that does the jobs of a pipeline, each with the newest configuration.
func (p *Pools) poolOf(a Assigned) *Pool {
	pool := &Pool{Source: a.Queue, Name: p.Name, Size: p.Size, Lease: p.Lease, Idle: IdlePause(a.Cadence),
		Log: p.Log.With("pipeline", a.Name)}
	if a.Retention != nil {
		pool.Size = 1
	}
	name := a.Name
	pool.Work = func(ctx context.Context, m jobs.Message, save jobs.Save) error {
		defer p.idle.busy()()
		with, err := p.assigned(ctx, name, m.Generation)
		if err != nil {
			return err
		}
		ctx, end := p.Begin(ctx, m)
		r, err := p.Figures.Do(ctx, with.Pipeline, m, with.Queue, save)
		end(r, err)
		for d, why := range r.Failed {
			pool.Log.WarnContext(ctx, "device failed", "device", d, "error", why)
		}
		for row, why := range r.Strange {
			pool.Log.WarnContext(ctx, "row skipped", "row", row, "error", why)
		}
		return err
	}
	pool.OnResult = func(r Result) {
		p.Figures.Ended(r)
		if p.OnResult != nil {
			p.OnResult(name, r)
		}
	}
	return pool
}

// assigned returns a pipeline with the newest configuration, which it waits for if the job's generation is newer. If
// that is not possible yet, the error wraps jobs.ErrNewer.
func (p *Pools) assigned(ctx context.Context, name schema.Pipeline, generation int64) (*Assigned, error) {
	for {
		p.mu.Lock()
		held, newer := p.held, p.newer
		p.mu.Unlock()
		a := held.pipeline(name)
		switch {
		case a != nil && a.Generation >= generation:
			return a, nil
		case a == nil: // its pool is being stopped
			<-ctx.Done()
			return nil, context.Cause(ctx)
		case held.Reach == nil:
			return nil, fmt.Errorf("%w: generation %d, and this worker has %d", jobs.ErrNewer, generation, held.Generation)
		}
		if err := held.Reach(ctx, generation); err != nil {
			return nil, fmt.Errorf("%w: %w", jobs.ErrNewer, err)
		}
		select {
		case <-newer:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Retention waits so long, at most, before each device while jobs of other pipelines run here.
const (
	givesWay = 3 * time.Second
	lookAway = 100 * time.Millisecond
)

// GiveWay waits until no pool of a pipeline that folds has a job, or for three seconds: retention can wait.
func (p *Pools) GiveWay(ctx context.Context) {
	for until := time.Now().Add(givesWay); time.Now().Before(until) && p.folds(); {
		select {
		case <-time.After(lookAway):
		case <-ctx.Done():
			return
		}
	}
}

func (p *Pools) folds() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.urgent, func(pool *Pool) bool { return pool.InFlight() > 0 })
}

// Outcomes returns how many jobs ended in each way, for a log. It is called after Run has returned.
func (p *Pools) Outcomes() (args []any) {
	for _, o := range []Outcome{OutcomeDone, OutcomeFailed, OutcomePoisoned, OutcomeLost, OutcomeReleased} {
		n := int64(0)
		for _, pool := range p.started {
			n += pool.Outcomes.Map()[o]
		}
		if n > 0 || o == OutcomeDone {
			args = append(args, o.String(), n)
		}
	}
	return args
}
