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

// Test sends a message about nothing to a target, at once and without a record. Where recipients depend on the device,
// to is the recipient.
func (n *Notifier) Test(ctx context.Context, name schema.Target, to string) (seen Exchange, err error) {
	target, known := n.Target(name)
	if !known {
		return seen, fmt.Errorf("the configuration has no target %s", name)
	}
	now := time.Now()
	d := sample(tables.TicksOf(now))
	d.Target = name
	m := message{id: "msg_test_" + rand.Text(), target: target, at: now, now: now, deliveries: []schema.Delivery{d},
		test: true, seen: &seen}
	if m.recipients = target.Kind.recipients(d); m.recipients == "" {
		if m.recipients = to; to == "" {
			return seen, errors.New("its address is in a label of the device; say one with --to")
		}
	}
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	err = target.Kind.send(ctx, n, m)
	return seen, err
}

// Redrive puts back what was given up for a target, and returns how many deliveries. The next job tries everything that
// waits for the target, whether it was to pause, or is turned off. A delivery that cannot be read stays given up: the
// error names it after all others were put back.
func (n *Notifier) Redrive(ctx context.Context, name schema.Target) (back int, err error) {
	target, _ := n.Target(name)
	c := &claim{Notifier: n, target: target}
	found, err := c.read(ctx)
	if err == nil && !found { // another pipeline had the rules when it was given up
		if _, err = n.Wake(ctx, name); err == nil {
			_, err = c.read(ctx)
		}
	}
	if err != nil {
		return 0, err
	}
	var unreadable error
	q := tables.Query{Range: tables.Partition(schema.GivenUp(name))}
	for e, err := range n.deliveries().Entities(ctx, q) {
		if err != nil {
			return back, err
		}
		d, err := schema.DeliveryOf(e)
		if err != nil {
			unreadable = errors.Join(unreadable, err)
			continue
		}
		d.Due, d.Attempts, d.Message, d.Error = 0, 0, "", ""
		d.Found = c.now // it has three days again
		_, err = n.deliveries().Do(ctx, tables.Insert(n.row(d.Entity())))
		if err != nil && !errors.Is(err, tables.ErrExists) {
			return back, err
		}
		_, err = n.deliveries().Do(ctx, tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag))
		if err != nil && !errors.Is(err, tables.ErrNotFound) {
			return back, err
		}
		back++
	}
	on := tables.Entity{}
	on.PartitionKey, on.RowKey = schema.TargetKeys(n.Pipeline, name)
	on.Set("Due", tables.Int64(0))
	on.Set("Failures", tables.Int64(0))
	on.Set("Pause", tables.Int64(0))
	on.Set("Most", tables.Int64(0))
	on.Set("Off", tables.String(""))
	on.Set("Retry", tables.Int64(int64(c.now+1))) // the second that storage tells has attempts before, too
	_, err = n.runs().Do(ctx, tables.Merge(on, tables.AnyETag))
	return back, errors.Join(err, unreadable)
}
