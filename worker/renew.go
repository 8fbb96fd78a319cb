package worker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// renew renews the lease at each third of its life until the job has returned,
// and ends the job when the lease is lost. When the pool stops, it goes on for
// as long as the job may take to return.
func (t *delivery) renew(ctx context.Context, returned <-chan struct{}) {
	lease := t.pool.Lease
	linger, cancel := outliving(ctx, t.pool.Grace)
	defer cancel()
	for pause := t.untilRenewal(); ; {
		timer := time.NewTimer(pause)
		select {
		case <-returned:
			timer.Stop()
			return
		case <-linger.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if pause = t.untilRenewal(); pause > 0 {
			continue // the job has saved, which renews
		}
		err := t.renewOnce(linger)
		switch {
		case err == nil:
			pause = t.untilRenewal()
		case errors.Is(err, ErrLeaseLost):
			t.lost(err)
			return
		case time.Until(t.lease.Until()) <= 0:
			t.lost(fmt.Errorf("%w: it ended before it could be renewed: %w", ErrLeaseLost, err))
			return
		default:
			t.pool.heed(err)
			t.pool.Log.WarnContext(ctx, "a lease could not be renewed yet", "message", t.lease.Text(), "error", err)
			pause = min(lease/12, max(0, time.Until(t.lease.Until())))
		}
	}
}

// untilRenewal is how long the first third of the lease lasts yet.
func (t *delivery) untilRenewal() time.Duration {
	return max(0, time.Until(t.lease.Until())-t.pool.Lease*2/3)
}

// renewOnce is not cut off when the job returns: only the service's answer
// tells the receipt that comes next.
func (t *delivery) renewOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.pool.Lease/3)
	defer cancel()
	return t.lease.Renew(ctx, t.pool.Lease)
}
