package roles

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"furrow/cmd/internal/generations"
)

// under returns the fleet with another configuration.
func (f *Fleet) under(g generations.Loaded) *Fleet {
	other := *f
	other.Generation, other.Format, other.Pipelines = g.Generation, g.Format, nil
	for _, p := range g.Config.Pipelines {
		if len(f.only) == 0 || slices.Contains(f.only, string(p.Name)) {
			other.Pipelines = append(other.Pipelines, p)
		}
	}
	return &other
}

// next waits for a newer configuration, creates its tables and queues, and returns the fleet with it. It returns f
// itself if ctx ends before.
func (f *Fleet) next(ctx context.Context) *Fleet {
	if f.Stored == nil {
		<-ctx.Done()
		return f
	}
	for {
		newest, changed := f.Stored.Current()
		if newest.Generation > f.Generation {
			other := f.under(newest)
			err := other.Create(ctx)
			if err == nil {
				return other
			}
			if ctx.Err() == nil {
				f.Log.WarnContext(ctx, "tables and queues of a new configuration not created", "generation",
					newest.Generation, "error", err)
			}
			changed = nil
		}
		if !again(ctx, changed) {
			return f
		}
	}
}

// createAgain is the longest pause before tables and queues are created again.
const createAgain = 5 * time.Second

// again waits for a change or, without a channel, for a while. It returns false when ctx has ended.
func again(ctx context.Context, changed <-chan struct{}) bool {
	var late <-chan time.Time
	if changed == nil {
		late = time.After(createAgain/2 + rand.N(createAgain/2))
	}
	select {
	case <-changed:
	case <-late:
	case <-ctx.Done():
		return false
	}
	return true
}
