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
	var runs []func(context.Context) error
	for _, p := range f.Pipelines {
		runs = append(runs, f.scheduler(p, every).Run)
	}
	if f.Policies != nil {
		runs = append(runs, f.Policies.Run)
	}
	f.Log.InfoContext(ctx, "a scheduler begins", "pipelines", f.pipelineNames())
	return Together(ctx, runs...)
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
	return &worker.Scheduler{Pipeline: p.Name, Cadence: cmp.Or(every, p.Cadence), Runs: f.Runs(), Queue: f.Queue(p), Log: f.Log}
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
