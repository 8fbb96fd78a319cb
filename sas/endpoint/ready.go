package endpoint

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// readiness checks whether tokens can be issued, at most once per second, and logs when the
// result changes.
type readiness struct {
	ask func(context.Context) error // nil: always ready
	log *slog.Logger

	mu    sync.Mutex
	asked time.Time
	err   error
}

const (
	readyFor     = time.Second     // how long a result is reused
	readyTimeout = 5 * time.Second // of a check
)

func (r *readiness) check(ctx context.Context) error {
	if r.ask == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.asked.IsZero() && time.Since(r.asked) < readyFor {
		return r.err
	}
	// Other requests wait for the same result, so the check must outlive this request.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	was := r.err
	r.err = r.ask(ctx)
	r.asked = time.Now()
	switch {
	case r.err != nil && was == nil:
		r.log.Warn("tokens cannot be issued", "error", r.err)
	case r.err == nil && was != nil:
		r.log.Info("tokens can be issued again")
	}
	return r.err
}
