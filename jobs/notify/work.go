package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// maxDue is how many deliveries a job looks at.
const maxDue = 5000

// work reads the deliveries, and sends those that are due, message after message.
func (j *job) work(ctx context.Context) error {
	if err := j.turn(ctx); err != nil {
		return err
	}
	if err := j.list(ctx); err != nil {
		return err
	}
	if j.off() {
		j.next = tables.MaxTicks
		return nil
	}
	if j.paused() {
		j.next = min(j.next, j.state.Pause)
		return nil
	}
	if err := errors.Join(j.asOpened(ctx), j.refresh(ctx)); err != nil {
		return err
	}
	groups, err := j.groups(ctx)
	if err != nil {
		return err
	}
	for _, g := range groups {
		ready, err := j.ready(ctx, g)
		if err != nil {
			return err
		}
		for len(ready) > 0 {
			if j.off() {
				return nil
			}
			if j.paused() {
				j.next = min(j.next, j.state.Pause)
				return nil
			}
			if time.Since(j.began) > sendFor || ctx.Err() != nil {
				j.next = 0
				return nil
			}
			take := len(ready)
			if ready[0].Message == "" {
				take = min(j.target.Kind.fits(ready), j.most())
			}
			sent := j.deliver(ctx, ready[:take])
			if ready = ready[take:]; !sent && len(ready) > 0 { // what follows may be the closing of what failed
				j.next = min(j.next, j.now.Add(openingFor))
				break
			}
		}
	}
	return nil
}

// list reads what the target is still to be told, and keeps what is due.
func (j *job) list(ctx context.Context) error {
	j.all = map[[2]string]schema.Delivery{}
	q := tables.Query{Range: tables.Range{Partitions: schema.DeliveriesTo(j.target.Name)}}
	for e, err := range j.deliveries().Entities(ctx, q) {
		if err != nil {
			return err
		}
		d, err := schema.DeliveryOf(e)
		if err != nil {
			j.result.Strange[e.PartitionKey+"/"+e.RowKey] = err
			continue
		}
		if _, is := j.target.Kind.(*Alertmanager); is && d.Repeat > 0 {
			j.standing[openingOf(d)] = d
			continue
		}
		if d.Repeat == 0 {
			j.waiting++
			if j.oldest == 0 || d.Found < j.oldest {
				j.oldest = d.Found
			}
		}
		switch due := j.due(d); {
		case due.ComesWithin(j.longest(d), j.now):
			j.next = min(j.next, due)
		case len(j.all) == maxDue:
			j.next = 0
		default:
			j.all[[2]string{e.PartitionKey, e.RowKey}] = d
		}
	}
	return nil
}

// due returns when a delivery is to be sent, zero: now. What failed before the target answered again waits no longer.
func (j *job) due(d schema.Delivery) tables.Ticks {
	retry := j.state.Retry
	if retry <= j.now+1 && d.Attempts > 0 && d.Due.Add(-pauseAfter(d.Attempts)) < retry { // else of a clock that was wrong
		return 0
	}
	return d.Due
}

// longest returns how long a delivery waits at most: until it is tried again, or repeated.
func (j *job) longest(d schema.Delivery) time.Duration {
	return max(pauseAfter(d.Attempts), j.target.repeat())
}

// groups divides the deliveries that are due into those of one message each, or of several if they are too many. First
// come the messages that were tried before. A group waits for others from its first delivery on.
func (j *job) groups(ctx context.Context) (groups [][]schema.Delivery, err error) {
	of := map[string][]schema.Delivery{}
	for _, d := range j.all {
		key := "1"
		switch {
		case d.Message != "":
			key = "0" + d.Message
		case len(j.target.GroupBy) > 0:
			key = fmt.Sprintf("1%q %q", groupText(j.target.group(d)), j.target.Kind.recipients(d))
		default:
			key = "1" + d.ID()
		}
		of[key] = append(of[key], d)
	}
	for key, g := range of {
		slices.SortFunc(g, func(a, b schema.Delivery) int {
			return cmp.Or(cmp.Compare(a.Found, b.Found), cmp.Compare(a.At, b.At),
				strings.Compare(a.Transition.ID.String(), b.Transition.ID.String()), cmp.Compare(a.Number, b.Number))
		})
		if wait := j.until(g); key[0] == '1' && wait > j.now {
			j.next = min(j.next, wait)
			delete(of, key)
			continue
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(of[a][0].Found, of[b][0].Found), strings.Compare(a, b))
	}) {
		groups = append(groups, of[key])
	}
	return groups, j.readBeside(ctx, slices.Concat(groups...))
}

// until returns until when a group waits for others.
func (j *job) until(g []schema.Delivery) tables.Ticks {
	wait := tables.MaxTicks
	for _, d := range g {
		if d.Repeat > 0 || d.Due > 0 { // it has waited before
			return 0
		}
		if d.Found > j.now { // by a clock that was wrong
			return 0
		}
		wait = min(wait, d.Found.Add(j.target.GroupWait))
	}
	return wait
}
