package demo

import (
	"context"
	"fmt"
	"furrow/cmd/internal/simulate"
	"time"
)

// standstill is how long nothing may move before a wait is given up. It says nothing
// about speed: on a machine that is a hundred times slower something still moves.
const standstill = 5 * time.Minute

// A sight is what a wait sees when it looks.
type sight struct {
	done  bool
	moved int64  // grows with every progress
	left  string // what is missing, for the screen and for the error
}

// await looks until what it waits for is done. It is as patient as something moves, and
// tells the screen at every look, whose clock goes on.
func await(ctx context.Context, screen Screen, every time.Duration, look func(context.Context) (sight, error)) error {
	var most int64
	var since time.Time
	for {
		s, err := look(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case s.done:
			return nil
		case since.IsZero() || s.moved > most:
			most, since = s.moved, time.Now()
		case time.Since(since) > standstill:
			return fmt.Errorf("nothing has moved for %v: %s", standstill, s.left)
		}
		screen.Wait(s.left)
		if !simulate.Pause(ctx, every) {
			return context.Cause(ctx)
		}
	}
}

// look is how often a wait looks at storage.
const look = 50 * time.Millisecond
