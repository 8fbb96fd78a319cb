package notify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// messageID returns the ID of a message with these deliveries.
func messageID(all []schema.Delivery) string {
	sum := sha256.New()
	for _, d := range all {
		fmt.Fprintln(sum, d.ID())
	}
	return "msg_" + base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum.Sum(nil)[:16])
}

// deliver sends a message and records the outcome. The attempt is written to the deliveries first, so a job that dies
// has made it. It reports whether the message has arrived.
func (j *job) deliver(ctx context.Context, all []schema.Delivery) bool {
	id := messageID(all) // as before, unless some of that message are not sent any more
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
		at: newest(all).Time(), now: j.now.Time(), deliveries: j.firing(all)})
	if ctx.Err() != nil {
		j.next = 0
		if err != nil {
			return false // nobody knows whether it has arrived
		}
	}
	if _, is := errors.AsType[*tooLarge](err); is && len(all) > 1 {
		j.divide(ctx, all)
		return false
	}
	refused, arrived := errors.AsType[*partly](err)
	if arrived {
		err = nil
	}
	if j.countOutcome(err); err == nil {
		if arrived {
			j.state.Error = refused.Error() // shown until a message has reached everybody
		}
		j.succeeded(ctx, all)
		return true
	}
	j.failed(ctx, all, err)
	return false
}

// firing replaces closings whose alert stands for another incident by that one's opening: of the same rule and device
// with the same labels, it would end, too. A closing that is tried again can come after the next opening.
func (j *job) firing(all []schema.Delivery) []schema.Delivery {
	all = slices.Clone(all)
	for i, d := range all {
		if d.Opens() {
			continue
		}
		for _, key := range j.alike[alertOf(d)] {
			next, stands := j.standing[key]
			if stands && next.Transition.ID.First > d.Transition.ID.First &&
				maps.Equal(alertLabels(next), alertLabels(d)) {
				all[i] = next
			}
		}
	}
	return all
}

// most returns how many deliveries a message has at most.
func (c *claim) most() int { return cmp.Or(c.state.Most, maxIncidents) }

// divide has deliveries that were too large a message sent in smaller ones by the next job. Nothing of it has arrived,
// so they may have other IDs.
func (j *job) divide(ctx context.Context, all []schema.Delivery) {
	j.result.Failed++
	j.state.Most, j.next = (len(all)+1)/2, 0
	var ops []tables.Op
	for _, d := range all {
		d.Message, d.Attempts, d.Due = "", 0, j.now
		ops = append(ops, tables.Replace(j.row(d.Entity()), d.ETag))
	}
	writeAll(ctx, j.deliveries(), ops, tries) // else the message is tried again as it was
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
