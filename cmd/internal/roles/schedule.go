package roles

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"furrow/cmd/internal/config"
	"furrow/worker"
)

// Schedule runs a scheduler for each pipeline until ctx ends, and returns nil
// then. An every that is not zero stands for the pipelines' own cadences. Beside
// them it looks after the policies that tokens hang on.
func (f *Fleet) Schedule(ctx context.Context, every time.Duration) error {
	runs := []func(context.Context) error{func(ctx context.Context) error { return f.scheduleAll(ctx, every) }}
	if f.Policies != nil {
		runs = append(runs, f.Policies.Run)
	}
	if f.Stored != nil {
		runs = append(runs, f.Stored.Run)
	}
	return Together(ctx, runs...)
}

// scheduleAll runs the schedulers of one configuration after the other. What one of
// them has begun and not ended, the next one repairs, as after a crash.
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

// scheduleUntilNext runs the fleet's schedulers until there is a newer configuration,
// and gives the fleet under that.
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
	f.Log.InfoContext(ctx, "a scheduler begins", "generation", f.Generation, "pipelines", f.pipelineNames())
	if err = Together(ctx, runs...); err != nil {
		stop()
	}
	waiting.Wait()
	return next, err
}

// ScheduleOnce does what is due now, for each pipeline, and tells of it.
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
	return &worker.Scheduler{Pipeline: p.Name, Cadence: cmp.Or(every, p.Cadence), Generation: f.Generation, Runs: f.Runs(),
		Queue: f.Queue(p), Log: f.Log}
}

// Together runs all until ctx ends or one of them fails, and waits for the others.
func Together(ctx context.Context, runs ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make([]error, len(runs))
	var running sync.WaitGroup
	for i, run := range runs {
		running.Go(func() {
			if failed[i] = run(ctx); failed[i] != nil {
				cancel()
			}
		})
	}
	running.Wait()
	return errors.Join(failed...)
}
