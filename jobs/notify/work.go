package notify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
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
				take = j.target.Kind.fits(ready)
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
	return max(pauseAfter(d.Attempts), j.target.Repeat)
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

// messageID returns the ID of a message with these deliveries.
func (j *job) messageID(all []schema.Delivery) string {
	sum := sha256.New()
	for _, d := range all {
		fmt.Fprintln(sum, d.ID())
	}
	return "msg_" + base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum.Sum(nil)[:16])
}

// deliver sends a message and records the outcome. The attempt is written to the deliveries first, so a job that dies
// has made it. It reports whether the message has arrived.
func (j *job) deliver(ctx context.Context, all []schema.Delivery) bool {
	id := cmp.Or(all[0].Message, j.messageID(all))
	attempts := all[0].Attempts
	for i := range all {
		all[i].Message, all[i].Attempts = id, all[i].Attempts+1
		all[i].Due = j.now.Add(pauseAfter(attempts + 1))
	}
	if !j.freeze(ctx, all) {
		j.next = min(j.next, all[0].Due) // storage does not answer; the attempt may be written
		return false
	}
	err := j.send(ctx, message{id: id, target: j.target, recipients: j.target.Kind.recipients(all[0]),
		at: newest(all).Time(), deliveries: all})
	if ctx.Err() != nil {
		j.next = 0
		if err != nil {
			return false // nobody knows whether it has arrived
		}
	}
	j.heed(err)
	if err == nil {
		j.succeeded(ctx, all)
		return true
	}
	j.failed(ctx, all, err)
	return false
}

func (j *job) send(ctx context.Context, m message) (err error) {
	if m.recipients == "" {
		return &hopeless{fmt.Errorf("%s of the device has no address", j.target.Kind)}
	}
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("sending panicked: %v", r)
		}
	}()
	return j.target.Kind.send(ctx, j.Notifier, m)
}

// pauseAfter returns the pause after an attempt: 10 s, and twice as long after each further one, up to an hour.
func pauseAfter(attempts int) time.Duration {
	const first, longest = 10 * time.Second, time.Hour
	return min(longest, first<<min(max(attempts-1, 0), 20))
}
