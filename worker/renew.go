package worker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// renew renews the lease after each third of its time until the job has returned, and ends the job if the lease is
// lost. When the pool stops, it continues for as long as the job may take to return.
func (t *delivery) renew(ctx context.Context, returned <-chan struct{}) {
	lease := t.pool.Lease
	linger, cancel := outliving(ctx, t.pool.Grace)
	defer cancel()
	for pause := t.untilRenewal(); ; {
		if received(linger, returned, pause) || linger.Err() != nil {
			return
		}
		if pause = t.untilRenewal(); pause > 0 {
			continue // the job has saved, which also renews
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

// untilRenewal returns how much of the first third of the lease is left.
func (t *delivery) untilRenewal() time.Duration {
	return max(0, time.Until(t.lease.Until())-t.pool.Lease*2/3)
}

// renewOnce is not canceled when the job returns, because only the service's answer has the next receipt.
func (t *delivery) renewOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.pool.Lease/3)
	defer cancel()
	return t.lease.Renew(ctx, t.pool.Lease)
}
