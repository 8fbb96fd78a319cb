package notify

import (
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"furrow/tables"
	"furrow/tables/schema"
)

// refresh tells an Alertmanager of all alerts that are open, as it may have been restarted. Also those are posted that
// are acknowledged or muted: alerts that nobody posts count as resolved. Nothing is written for each of them.
func (j *job) refresh(ctx context.Context) error {
	if len(j.standing) == 0 {
		return nil
	}
	if next := j.state.Refreshed.Add(j.target.repeat()); next.ComesWithin(j.target.repeat(), j.now) {
		j.next = min(j.next, next)
		return nil
	}
	all, err := j.stillOpen(ctx)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(all, j.most()) {
		err := j.send(ctx, message{target: j.target, recipients: everybody, now: j.now.Time(), deliveries: some})
		if _, is := errors.AsType[*tooLarge](err); is && len(some) > 1 {
			j.state.Most, j.next = (len(some)+1)/2, 0
			return nil
		}
		if j.countOutcome(err); err != nil {
			j.next = min(j.next, j.now.Add(openingFor))
			return nil
		}
	}
	j.state.Refreshed = j.now
	j.next = min(j.next, j.now.Add(j.target.repeat()))
	return nil
}

// stillOpen returns the openings of open alerts. It removes those that have closed and whose closing this target is not
// told of: their alerts end by themselves.
func (j *job) stillOpen(ctx context.Context) (all []schema.Delivery, err error) {
	closing := map[openingKey]bool{}
	for _, d := range j.all {
		if !d.Opens() {
			closing[openingOf(d)] = true
		}
	}
	tenants := map[schema.Tenant]bool{}
	for _, d := range j.standing {
		tenants[d.Home.Tenant] = true
	}
	open, err := j.openOf(ctx, tenants)
	if err != nil {
		return nil, err
	}
	var over []tables.Op
	for key, d := range j.standing {
		switch {
		case closing[key]:
		case open[key]:
			all = append(all, d)
		default:
			pk, rk := d.Keys()
			over = append(over, tables.Delete(pk, rk, d.ETag))
		}
	}
	writeAll(ctx, j.deliveries(), over, 1) // what is left is found again
	return all, nil
}

// tenantsRead is how many tenants are read at a time: one after the other, some ten thousand take longer than a job
// may.
const tenantsRead = 16

// openOf reads the indexes of tenants' open incidents.
func (n *Notifier) openOf(ctx context.Context, tenants map[schema.Tenant]bool) (map[openingKey]bool, error) {
	var mu sync.Mutex
	open := map[openingKey]bool{}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(tenantsRead)
	for t := range tenants {
		g.Go(func() error {
			q := tables.Query{Range: tables.Partition(schema.OpenIncidents(t))}
			for e, err := range n.incidents().Entities(ctx, q) {
				if err != nil {
					return err
				}
				if one, err := schema.TransitionOf(e); err == nil {
					mu.Lock()
					open[openingOf(schema.Delivery{Transition: one})] = true
					mu.Unlock()
				}
			}
			return nil
		})
	}
	return open, g.Wait()
}
