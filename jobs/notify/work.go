package notify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// maxDue is how many deliveries a job looks at together, at least. Those that wait, such as muted ones, delay no
// others.
const maxDue = 5000

// work reads the deliveries, and sends those that are due, message after message.
func (j *job) work(ctx context.Context) error {
	if err := j.turn(ctx); err != nil {
		return err
	}
	rest, err := j.list(ctx)
	if err != nil {
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
	if err := j.asOpened(ctx); err != nil {
		return err
	}
	goOn, err := j.sendDue(ctx)
	if err == nil && ctx.Err() == nil && !j.off() && !j.paused() { // it may fail whenever it is tried, so it comes last
		err = j.refresh(ctx)
	}
	if !goOn || err != nil || rest == (tables.Continuation{}) || j.paused() {
		return err
	}
	return j.workOn(ctx, rest)
}

// workOn does the same with the deliveries from a page on, part by part.
func (j *job) workOn(ctx context.Context, from tables.Continuation) error {
	clear(j.all)
	clear(j.listed)
	for page, err := range j.deliveries().Rows(ctx, j.target.query(from)) {
		if err != nil {
			return err
		}
		for _, e := range page.Rows {
			if d, is := j.decoded(e); is {
				j.keepDue(d)
			}
		}
		if len(j.all) < maxDue && page.Next != (tables.Continuation{}) {
			continue
		}
		clear(j.beside.of)
		if err := j.asOpened(ctx); err != nil {
			return err
		}
		if goOn, err := j.sendDue(ctx); !goOn || err != nil {
			return err
		}
		clear(j.all)
		clear(j.listed)
	}
	return nil
}

// sendDue sends what is to be sent of the deliveries that are due. It reports whether others may be sent, too.
func (j *job) sendDue(ctx context.Context) (goOn bool, err error) {
	groups, err := j.groups(ctx)
	if err != nil {
		return false, err
	}
	for _, g := range groups {
		ready, err := j.ready(ctx, g)
		if err != nil {
			return false, err
		}
		for len(ready) > 0 {
			if j.off() {
				return false, nil
			}
			if j.paused() {
				j.next = min(j.next, j.state.Pause)
				return false, nil
			}
			if time.Since(j.began) > sendFor || ctx.Err() != nil {
				j.next = 0
				return false, nil
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
	return true, nil
}

func (t *Target) query(from tables.Continuation) tables.Query {
	return tables.Query{Range: tables.Range{Partitions: schema.DeliveriesTo(t.Name)}, From: from}
}

// list reads what the target is still to be told, and counts it. What is muted is not late, however old it is, nor is
// what waits for others of its group. It keeps what is due of the first part, and returns the page with which the rest
// begins.
func (j *job) list(ctx context.Context) (rest tables.Continuation, err error) {
	j.all, j.listed = map[[2]string]schema.Delivery{}, map[[2]string]tables.Ticks{}
	var at tables.Continuation
	for page, err := range j.deliveries().Rows(ctx, j.target.query(at)) {
		if err != nil {
			return rest, err
		}
		if len(j.all) >= maxDue && rest == (tables.Continuation{}) {
			rest = at
		}
		for _, e := range page.Rows {
			d, is := j.decoded(e)
			if is && d.Repeat == 0 {
				j.waiting++
			}
			due := d.Found.Add(j.target.GroupWait)
			if is && d.Repeat == 0 && (j.oldest == 0 || due < j.oldest) { // else its mutes need not be read
				until, _, err := j.mutes.muted(ctx, d, j.now)
				if err != nil {
					return rest, err
				}
				if until <= j.now {
					j.oldest = due
				}
			}
			if is && rest == (tables.Continuation{}) {
				j.keepDue(d)
			}
		}
		at = page.Next
	}
	return rest, nil
}

// decoded returns the delivery of a row. It is none if it cannot be read, or only says that an Alertmanager has an
// alert.
func (j *job) decoded(e tables.Entity) (d schema.Delivery, is bool) {
	d, err := schema.DeliveryOf(e)
	if err != nil {
		j.result.Strange[e.PartitionKey+"/"+e.RowKey] = err
		return d, false
	}
	if _, is := j.target.Kind.(*Alertmanager); is && d.Repeat > 0 {
		j.stands(d)
		return d, false
	}
	return d, true
}

// keepDue keeps a delivery that is due.
func (j *job) keepDue(d schema.Delivery) {
	pk, rk := d.Keys()
	j.listed[[2]string{pk, rk}] = d.Due
	longest := max(pauseAfter(d.Attempts), j.target.repeat()) // that it waits: until it is tried again, or repeated
	if due := j.due(d); due.ComesWithin(longest, j.now) {
		j.next = min(j.next, due)
		return
	}
	j.all[[2]string{pk, rk}] = d
}

// due returns when a delivery is to be sent, zero: now. What failed before the target answered again waits no longer.
func (c *claim) due(d schema.Delivery) tables.Ticks {
	retry := c.state.Retry
	if retry <= c.now+1 && d.Attempts > 0 && d.Due.Add(-pauseAfter(d.Attempts)) < retry { // else of a clock that was wrong
		return 0
	}
	return d.Due
}

// groups divides the deliveries that are due into those of one message each, or of several if they are too many. First
// come the messages that were tried before. After failures in a row, when one message is tried after each pause, first
// come those that were tried least: messages that a receiver always refuses hold back no others. A group waits for
// others from its first delivery on.
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
			return cmp.Or(inOrder(a, b), strings.Compare(a.Transition.ID.String(), b.Transition.ID.String()))
		})
		if wait := j.until(g); key[0] == '1' && wait > j.now {
			j.next = min(j.next, wait)
			delete(of, key)
			continue
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		order := cmp.Compare(a[0], b[0])
		if j.state.Failures >= tripAt {
			order = cmp.Compare(of[a][0].Attempts, of[b][0].Attempts)
		}
		return cmp.Or(order, inOrder(of[a][0], of[b][0]), strings.Compare(a, b))
	}) {
		groups = append(groups, of[key])
	}
	return groups, j.beside.read(ctx, slices.Concat(groups...))
}

// inOrder has an opening come before its closing, and that before the next incident of the rule and device, which may
// have opened earlier than a job closed this one.
func inOrder(a, b schema.Delivery) int {
	return cmp.Or(cmp.Compare(a.Found, b.Found), cmp.Compare(a.Transition.ID.First, b.Transition.ID.First),
		cmp.Compare(a.Number, b.Number))
}

// until returns until when a group waits for others.
func (c *claim) until(g []schema.Delivery) tables.Ticks {
	wait := tables.MaxTicks
	for _, d := range g {
		if d.Repeat > 0 || d.Due > 0 { // it has waited before
			return 0
		}
		if d.Found > c.now { // by a clock that was wrong
			return 0
		}
		wait = min(wait, d.Found.Add(c.target.GroupWait))
	}
	return wait
}
