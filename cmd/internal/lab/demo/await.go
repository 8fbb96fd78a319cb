package demo

import (
	"context"
	"fmt"
	"time"

	"furrow/cmd/internal/setup"
)

// standstill is how long a wait lasts without any progress. It does not limit speed: a machine that is a
// hundred times slower still makes some progress.
const standstill = 5 * time.Minute

// pollEvery is the interval between two looks at storage.
const pollEvery = 50 * time.Millisecond

// A waitState is how far something is that a wait is for.
type waitState struct {
	done     bool
	progress int64  // grows with every progress
	left     string // what is missing, for the screen and for the error
}

// await polls until what it waits for is done. It fails when nothing has progressed for standstill.
func await(ctx context.Context, screen Screen, every time.Duration,
	poll func(context.Context) (waitState, error)) error {
	var most int64
	var since time.Time
	for {
		s, err := poll(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case s.done:
			return nil
		case since.IsZero() || s.progress > most:
			most, since = s.progress, time.Now()
		case time.Since(since) > standstill:
			return fmt.Errorf("no progress for %v: %s", standstill, s.left)
		}
		screen.Wait(s.left)
		if !setup.Pause(ctx, every) {
			return context.Cause(ctx)
		}
	}
}
