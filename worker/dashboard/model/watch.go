package model

import (
	"context"
	"sync"
	"time"
)

// A watch knows whether anyone uses the dashboard, and how current the index is.
type watch struct {
	fresh time.Duration // the index counts as current for this long after a poll

	mu     sync.Mutex
	last   time.Time     // of the last request
	done   time.Time     // the last successful poll ended
	failed error         // of the last poll
	wake   chan struct{} // buffered; wakes the poller
	polled chan struct{} // closed at the end of each poll
}

const (
	watchFor = time.Minute     // the dashboard counts as used for this long after a request
	patience = 2 * time.Second // a request waits at most this long for a poll
)

func newWatch(fresh time.Duration) *watch {
	return &watch{fresh: fresh, wake: make(chan struct{}, 1), polled: make(chan struct{})}
}

// await notes a request and, when the index is not current, waits a little for a poll. It returns when the
// index was read last. Before the first poll ends, that is now, or the error of a poll that failed.
func (w *watch) await(ctx context.Context) (at time.Time, err error) {
	w.touch()
	w.mu.Lock()
	stale, polled := time.Since(w.done) > w.fresh, w.polled
	w.mu.Unlock()
	if stale {
		limit := time.NewTimer(patience)
		defer limit.Stop()
		select {
		case <-polled:
		case <-limit.C:
		case <-ctx.Done():
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if at = w.known(); at.IsZero() {
		err = w.failed
	}
	return at, err
}

// known returns when the index was read last. The lock is held.
func (w *watch) known() time.Time {
	if w.done.IsZero() && w.failed == nil {
		return time.Now()
	}
	return w.done
}

// touch notes a request without waiting. It returns when the index was read last.
func (w *watch) touch() (at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return w.known()
}

// wait waits until someone uses the dashboard. It returns false when ctx has ended.
func (w *watch) wait(ctx context.Context) bool {
	for ctx.Err() == nil {
		w.mu.Lock()
		used := time.Since(w.last) < watchFor
		w.mu.Unlock()
		if used {
			return true
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
		}
	}
	return false
}

func (w *watch) ended(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = err
	if err == nil {
		w.done = time.Now()
	}
	close(w.polled)
	w.polled = make(chan struct{})
}
