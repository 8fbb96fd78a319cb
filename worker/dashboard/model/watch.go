package model

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A watch knows whether anyone uses the dashboard, and how current the index is.
type watch struct {
	fresh time.Duration // the index counts as current for this long after a poll

	mu     sync.Mutex
	last   time.Time     // of the last request
	done   []time.Time   // the last successful poll of an account ended
	failed []error       // of its last poll
	wake   chan struct{} // closed when somebody uses the dashboard again
	polled chan struct{} // closed at the end of each poll
}

const (
	watchFor = time.Minute     // the dashboard counts as used for this long after a request
	patience = 2 * time.Second // a request waits at most this long for a poll
)

func newWatch(fresh time.Duration, accounts int) *watch {
	return &watch{fresh: fresh, done: make([]time.Time, accounts), failed: make([]error, accounts),
		wake: make(chan struct{}), polled: make(chan struct{})}
}

// await notes a request and, when the index is not current, waits a little for polls. It returns when the index was
// read last. Before the first poll ends, that is now, or the error of a poll that failed.
func (w *watch) await(ctx context.Context) (at time.Time, err error) {
	w.touch()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for waited := false; w.stale() && !waited; {
		polled := w.polled
		w.mu.Unlock()
		select {
		case <-polled:
			waited = len(w.done) == 1
		case <-limit.C:
			waited = true
		case <-ctx.Done():
			waited = true
		}
		w.mu.Lock()
	}
	if at = w.known(); at.IsZero() {
		err = errors.Join(w.failed...)
	}
	return at, err
}

// stale reports whether an account is due that can be read. The lock is held.
func (w *watch) stale() bool {
	for i, done := range w.done {
		if time.Since(done) > w.fresh && (len(w.done) == 1 || w.failed[i] == nil) {
			return true
		}
	}
	return false
}

// known returns when the index was read last, in the account where that is the longest ago. Those that fail do not
// count if there are others. The lock is held.
func (w *watch) known() (at time.Time) {
	waits := false
	for i, done := range w.done {
		switch {
		case done.IsZero() && w.failed[i] == nil:
			waits = true
		case !done.IsZero() && (at.IsZero() || done.Before(at)) && (w.failed[i] == nil || len(w.done) == 1):
			at = done
		}
	}
	if at.IsZero() && waits {
		return time.Now()
	}
	return at
}

// touch notes a request without waiting. It returns when the index was read last.
func (w *watch) touch() (at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.last) >= watchFor {
		close(w.wake)
		w.wake = make(chan struct{})
	}
	w.last = time.Now()
	return w.known()
}

// wait waits until someone uses the dashboard. It returns false when ctx has ended.
func (w *watch) wait(ctx context.Context) bool {
	for ctx.Err() == nil {
		w.mu.Lock()
		used, wake := time.Since(w.last) < watchFor, w.wake
		w.mu.Unlock()
		if used {
			return true
		}
		select {
		case <-wake:
		case <-ctx.Done():
		}
	}
	return false
}

// ended notes the end of a poll of an account.
func (w *watch) ended(in uint16, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed[in] = err
	if err == nil {
		w.done[in] = time.Now()
	}
	close(w.polled)
	w.polled = make(chan struct{})
}
