package setup

import (
	"context"
	"time"
)

// Pause waits for d. It returns false when ctx has ended.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
