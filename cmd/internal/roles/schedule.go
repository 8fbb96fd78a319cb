package roles

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"furrow/cmd/internal/config"
	"furrow/worker"
)

// Schedule runs a scheduler for each pipeline until ctx ends, and returns nil then. An every that is not zero
// replaces the cadences of the pipelines. It also reconciles the stored access policies of tokens, and verifies samples
// of the devices where the configuration has a block verify.
func (f *Fleet) Schedule(ctx context.Context, every time.Duration) error {
	runs := []func(context.Context) error{func(ctx context.Context) error { return f.scheduleAll(ctx, every) },
		f.nightly().Run}
	if f.Policies != nil {
		runs = append(runs, f.Policies.Run)
	}
	if f.Stored != nil {
		runs = append(runs, f.Stored.Run)
	}
	return Together(ctx, runs...)
}

// scheduleAll runs the schedulers of one configuration after the other. Each repairs what the one before has left
// unfinished, as after a crash.
func (f *Fleet) scheduleAll(ctx context.Context, every time.Duration) error {
	for ctx.Err() == nil {
		next, err := f.scheduleUntilNext(ctx, every)
		if err != nil {
			return err
		}
		f = next
	}
	return nil
}

// scheduleUntilNext runs the schedulers until there is a newer configuration, and returns the fleet with that.
func (f *Fleet) scheduleUntilNext(ctx context.Context, every time.Duration) (next *Fleet, err error) {
	ctx, stop := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		next = f.next(ctx)
		stop()
	})
	var runs []func(context.Context) error
	for _, p := range f.Pipelines {
		runs = append(runs, f.scheduler(p, every).Run)
	}
	f.Log.InfoContext(ctx, "scheduler started", "generation", f.Generation, "pipelines", f.pipelineNames())
	if err = Together(ctx, runs...); err != nil {
		stop()
	}
	waiting.Wait()
	return next, err
}

// ScheduleOnce runs the slot that is due now for each pipeline, and passes it to tell.
func (f *Fleet) ScheduleOnce(ctx context.Context, every time.Duration, tell func(worker.Slot)) error {
	for _, p := range f.Pipelines {
		slot, err := f.scheduler(p, every).Once(ctx)
		if err != nil {
			return err
		}
		tell(slot)
	}
	return nil
}

func (f *Fleet) scheduler(p config.Pipeline, every time.Duration) *worker.Scheduler {
	s := &worker.Scheduler{Pipeline: p.Name, Cadence: cmp.Or(every, p.Cadence), Generation: f.Generation, Runs: f.Runs(),
		Queue: f.Queue(p), Settle: p.Settle, Log: f.Log}
	write := f.onSlot(p)
	s.OnSlot = func(ctx context.Context, slot worker.Slot) {
		f.Tracer.Slot(ctx, slot)
		write(ctx, slot)
	}
	if !p.Archives() { // nobody waits for an archive
		s.Early = f.Early
	}
	return s
}

// Together runs all until ctx ends or one of them fails, and returns the first error after the others have ended.
func Together(ctx context.Context, runs ...func(context.Context) error) error {
	running, ctx := errgroup.WithContext(ctx)
	for _, run := range runs {
		running.Go(func() error { return run(ctx) })
	}
	return running.Wait()
}
