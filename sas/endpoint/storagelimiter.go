package endpoint

import (
	"context"
	"sync"
	"time"
)

// A storageLimiter bounds how many requests use storage concurrently. Each holds memory and
// a connection, and they pile up when storage is slow.
type storageLimiter struct {
	slots chan struct{}

	mu    sync.Mutex
	mean  time.Duration // recent time that a request holds a slot
	retry retrySchedule
}

// maxSlotWait is how long a request waits for a slot.
const maxSlotWait = 2 * time.Second

// acquire takes a slot. If none becomes free in time, release is nil and retryAfter is set.
func (l *storageLimiter) acquire(ctx context.Context) (release func(), retryAfter time.Duration) {
	select {
	case l.slots <- struct{}{}:
	default:
		ctx, cancel := context.WithTimeout(ctx, maxSlotWait)
		defer cancel()
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, l.retryAfter()
		}
	}
	began := time.Now()
	return func() { l.release(time.Since(began)) }, 0
}

// weight is the inverse of one request's share in the mean: the last few hundred count.
const weight = 64

func (l *storageLimiter) release(held time.Duration) {
	<-l.slots
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mean += (held - l.mean) / weight
}

// retryAfter schedules a retry at the rate at which storage has completed requests recently.
func (l *storageLimiter) retryAfter() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.retry.next(time.Now(), time.Second, l.mean/time.Duration(cap(l.slots)))
}
