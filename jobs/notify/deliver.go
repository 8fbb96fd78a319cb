package notify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// Deliver does what is due for a target, unless another job is at it.
func (n *Notifier) Deliver(ctx context.Context, name schema.Target) (Result, error) {
	target, _ := n.Target(name)
	strange := map[string]error{}
	j := &job{claim: claim{Notifier: n, target: target, id: rand.Text()}, began: time.Now(), next: tables.MaxTicks,
		beside:   beside{Notifier: n, target: name, of: map[incidentKey]*besides{}, strange: strange},
		mutes:    mutes{Notifier: n, of: map[schema.Tenant][]schema.Mute{}, strange: strange},
		standing: map[openingKey]schema.Delivery{}, alike: map[alertKey][]openingKey{},
		result: Result{Strange: strange}}
	ours, err := j.claimTarget(ctx)
	if err != nil || !ours {
		return Result{}, err
	}
	j.retry = j.state.Retry
	within, cancel := context.WithTimeout(ctx, workFor)
	defer cancel()
	err = j.work(within)
	if stopped := context.Cause(ctx); stopped != nil {
		j.next = 0
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWithin)
		defer cancel()
		return Result{}, errors.Join(stopped, j.release(last)) // so that no other worker waits for the claim's end
	}
	if err != nil {
		j.next = 0
	}
	if left := j.release(ctx); left != nil || err != nil {
		return Result{}, fmt.Errorf("target %s: %w", name, errors.Join(err, left))
	}
	return j.result, nil
}
