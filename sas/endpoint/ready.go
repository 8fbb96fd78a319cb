package endpoint

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// readiness asks whether tokens can be issued, at most once a second however many
// ask it, and logs when the answer changes.
type readiness struct {
	ask func(context.Context) error // nil: always ready
	log *slog.Logger

	mu    sync.Mutex
	asked time.Time
	err   error
}

const (
	readyFor     = time.Second     // that an answer holds
	readyTimeout = 5 * time.Second // of a question
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
	// Others wait for the same answer, so that it must not end with this request.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	was := r.err
	r.err = r.ask(ctx)
	r.asked = time.Now()
	switch {
	case r.err != nil && was == nil:
		r.log.Warn("no tokens can be issued", "error", r.err)
	case r.err == nil && was != nil:
		r.log.Info("tokens can be issued again")
	}
	return r.err
}
