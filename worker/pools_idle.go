package worker

import (
	"context"
	"slices"
	"sync"
	"time"
)

// IdlePause is the longest pause between two polls of an empty queue: a sixth of the cadence, so that a run does not
// wait long.
func IdlePause(cadence time.Duration) time.Duration {
	return min(max(cadence/6, time.Second), 30*time.Second)
}

// WaitIdle returns when there has been no job for d since pools run and the queues of all pools are empty, or when ctx
// ends.
func (p *Pools) WaitIdle(ctx context.Context, d time.Duration) {
	for left := d; ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-time.After(left):
		}
		if left = p.idle.left(d); left > 0 {
			continue
		}
		if p.empty(ctx) && p.idle.left(d) <= 0 {
			return
		}
		left = d
	}
}

// empty reports whether there are pools, and all of their queues are empty.
func (p *Pools) empty(ctx context.Context) bool {
	p.mu.Lock()
	pools := slices.Clone(p.started)
	p.mu.Unlock()
	return len(pools) > 0 && !slices.ContainsFunc(pools, func(pool *Pool) bool { return !pool.Empty(ctx) })
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
