package model

import (
	"context"
	"sync"
	"time"
)

// A watch knows whether anybody looks.
type watch struct {
	fresh time.Duration // the index is as good as new after a round

	mu     sync.Mutex
	last   time.Time     // somebody looked
	done   time.Time     // the last round that succeeded ended
	failed error         // of the last round, if it did
	wake   chan struct{} // has room for one
	rounds chan struct{} // closed at the end of a round
}

const (
	watchFor = time.Minute     // somebody who looked counts as looking on
	patience = 2 * time.Second // of who looks, until a round is done
)

func newWatch(fresh time.Duration) *watch {
	return &watch{fresh: fresh, wake: make(chan struct{}, 1), rounds: make(chan struct{})}
}

// look says that somebody looks, and waits a little for a round where the last one
// is too long ago. It gives when the index was read last, and why not since; amid the
// first round, that is now: there is what is known so far.
func (w *watch) look(ctx context.Context) (at time.Time, failed error) {
	w.mu.Lock()
	w.last = time.Now()
	stale := time.Since(w.done) > w.fresh
	rounds := w.rounds
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
	if stale {
		limit := time.NewTimer(patience)
		defer limit.Stop()
		select {
		case <-rounds:
		case <-limit.C:
		case <-ctx.Done():
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known(), w.failed
}

// known is when the index was read last. It is called with the lock held.
func (w *watch) known() time.Time {
	if w.done.IsZero() && w.failed == nil {
		return time.Now()
	}
	return w.done
}

// looked says that somebody still looks, and waits for nothing.
func (w *watch) looked() (at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return w.known()
}

// wait waits until somebody looks, and tells whether ctx goes on.
func (w *watch) wait(ctx context.Context) bool {
	for ctx.Err() == nil {
		w.mu.Lock()
		watched := time.Since(w.last) < watchFor
		w.mu.Unlock()
		if watched {
			return true
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
		}
	}
	return false
}

// ended says that a round has ended.
func (w *watch) ended(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = err
	if err == nil {
		w.done = time.Now()
	}
	close(w.rounds)
	w.rounds = make(chan struct{})
}
