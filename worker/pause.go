package worker

import (
	"context"
	"math/rand/v2"
	"time"
)

// jitter varies d by up to a fifth, so that everybody who was stopped by the same event does not come back at once.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

// growing is a pause that doubles each time.
type growing struct {
	from, to time.Duration
	next     time.Duration // zero at first
}

// pause returns the next pause with jitter, so it may be a fifth longer than to.
func (g *growing) pause() time.Duration {
	d := max(min(g.next, g.to), g.from)
	g.next = min(2*d, g.to)
	return jitter(d)
}

// reset makes the next pause the shortest again.
func (g *growing) reset() { g.next = 0 }

// doubled returns from, doubled n times, but at most to.
func doubled(from, to time.Duration, n int) time.Duration {
	for range n {
		if from *= 2; from >= to {
			return to
		}
	}
	return min(from, to)
}

// poke puts a token into a channel that holds one.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// received waits for c, for d, or for the end of ctx, and reports whether c received.
func received(ctx context.Context, c <-chan struct{}, d time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(d):
	case <-ctx.Done():
	}
	return false
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) { received(ctx, nil, d) }
