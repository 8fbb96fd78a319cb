package endpoint

import (
	"context"
	"sync"
	"time"

	"furrow/tables/schema"
	"furrow/tables/shares"
)

// A storageLimiter bounds how many requests use storage concurrently. Each holds memory and
// a connection, and they pile up when storage is slow. Tenants share the slots.
type storageLimiter struct {
	size  int
	slots *shares.Shares

	mu    sync.Mutex
	mean  time.Duration // recent time that a request holds a slot
	retry retrySchedule
}

// maxSlotWait is how long a request waits for a slot.
const maxSlotWait = 2 * time.Second

func newStorageLimiter(size int) *storageLimiter {
	return &storageLimiter{size: size, slots: shares.New(int64(size), int64(size/tenantPart))}
}

// acquire takes a slot for a tenant. If none becomes free in time, release is nil and retryAfter is set.
func (l *storageLimiter) acquire(ctx context.Context, of schema.Tenant) (release func(), retryAfter time.Duration) {
	waits, cancel := context.WithTimeout(ctx, maxSlotWait)
	defer cancel()
	if !l.slots.Wait(waits, 1, string(of)) {
		return nil, l.retryAfter()
	}
	began := time.Now()
	return func() {
		l.slots.Give(1, string(of))
		l.note(time.Since(began))
	}, 0
}

// weight is the inverse of one request's share in the mean: the last few hundred count.
const weight = 64

// note counts how long a slot was held.
func (l *storageLimiter) note(held time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mean += (held - l.mean) / weight
}

// retryAfter schedules a retry at the rate at which storage has completed requests recently.
func (l *storageLimiter) retryAfter() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.retry.next(time.Now(), time.Second, l.mean/time.Duration(l.size))
}
