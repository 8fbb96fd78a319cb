// Package outbox posts what watchers said: incidents, deliveries, commands. Watchers put them into their states, which
// are committed with the checkpoint. Only then are they written, and taken out of the states, so each comes exactly
// once, whatever dies in between.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"furrow/jobs/commit"
	"furrow/jobs/fold"
	"furrow/jobs/folding"
	"furrow/jobs/notify"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/commands"
	"furrow/tables/schema"
)

// An Outbox posts for a pipeline.
type Outbox struct {
	Pipeline schema.Pipeline
	Client   *tables.Client
	Names    schema.Names
	Format   int64 // of outputs; zero means 1
	Notifier *notify.Notifier
}

// Post writes what the committed states of devices hold for it, and takes it out of the states in memory. It returns
// the devices whose states it changed. A partition that cannot be written is an error of its devices alone. Targets
// with new deliveries are woken before anything leaves a state; it returns those that nobody had woken before.
func (b *Outbox) Post(ctx context.Context, work []*folding.Device) (posted []*folding.Device, woken []schema.Target,
	err error) {
	of := map[fold.Output][]*commit.Write{} // by partition
	rest := map[*folding.Device]map[string][]byte{}
	for _, d := range work {
		states, changes, commands, err := b.postsOf(d)
		if err != nil {
			d.Err = err
			continue
		}
		for _, told := range commands {
			if err := b.send(ctx, told); err != nil {
				d.Unavailable(err)
			}
		}
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		for _, c := range changes {
			o := fold.Output{Table: c.Output.Table, PartitionKey: c.Output.PartitionKey}
			of[o] = append(of[o], c)
		}
		if len(states) > 0 {
			rest[d] = states
		}
	}
	for _, o := range fold.SortedOutputs(of) {
		err := commit.WriteAll(ctx, b.Client.Table(b.Names.Output(o.Table)), of[o])
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if err != nil {
			for _, c := range commit.Undone(of[o]) {
				c.Device.Unavailable(err)
			}
		}
	}
	if woken, err = b.wake(ctx, of); err != nil {
		return nil, nil, err
	}
	for _, d := range work {
		if states := rest[d]; len(states) > 0 && d.Err == nil {
			maps.Copy(d.Row.States, states)
			posted = append(posted, d)
		}
	}
	return posted, woken, nil
}

// postsOf returns what a device's states hold to be inserted or deleted, and the states without it. It also returns
// the commands to be sent.
func (b *Outbox) postsOf(d *folding.Device) (rest map[string][]byte, changes []*commit.Write,
	told []fold.Effect, err error) {
	for processor, w := range d.Model.Watchers {
		state := d.Row.State(processor.Name)
		if state == nil {
			continue
		}
		posts, without, err := w.Posts(d.Member, state)
		if err != nil {
			return nil, nil, nil, err
		}
		if len(posts) == 0 {
			continue
		}
		if err := processor.Check(posts); err != nil {
			return nil, nil, nil, err
		}
		if rest == nil {
			rest = map[string][]byte{}
		}
		rest[processor.Name] = without
		for _, post := range posts {
			if post.Command != nil {
				told = append(told, post)
				continue
			}
			o := post.Output
			e := tables.Entity{PartitionKey: o.PartitionKey, RowKey: o.RowKey, Properties: slices.Clone(post.Properties)}
			schema.SetFormat(&e, max(b.Format, d.Row.Format))
			op, deletes := tables.Insert(e), post.Properties == nil
			if deletes {
				op = tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag)
			}
			changes = append(changes, &commit.Write{Device: &d.Device, Op: op, Output: o,
				Compare: func(found *tables.Entity) commit.Resolution {
					return commit.Resolution{Done: (found == nil) == deletes, ETag: tables.AnyETag}
				}})
		}
	}
	return rest, changes, told, nil
}

// send sends a command of a Watcher, once. If the device's list is full, it writes what is to be written instead, and
// the command is never sent.
func (b *Outbox) send(ctx context.Context, told fold.Effect) error {
	instead := b.Client.Table(b.Names.Output(told.Output.Table))
	_, err := instead.Get(ctx, told.Output.PartitionKey, told.Output.RowKey)
	if err == nil {
		return nil // an earlier job found the list full
	}
	if !tables.Absent(err) {
		return err
	}
	err = commands.Of(b.Client, b.Names).Insert(ctx, *told.Command)
	if !errors.Is(err, commands.ErrFull) {
		return err
	}
	e := tables.Entity{PartitionKey: told.Output.PartitionKey, RowKey: told.Output.RowKey, Properties: told.Properties}
	if _, err = instead.Do(ctx, tables.Insert(e)); errors.Is(err, tables.ErrExists) {
		return nil
	}
	return err
}

// Left posts what earlier jobs had committed when they died.
func (b *Outbox) Left(ctx context.Context, work []*folding.Device) (woken []schema.Target, err error) {
	readable := slices.DeleteFunc(slices.Clone(work), func(d *folding.Device) bool { return d.Err != nil })
	posted, woken, err := b.Post(ctx, readable)
	for _, d := range posted {
		d.Dirty = true
	}
	return woken, err
}

// Committed posts what has just been committed. Then it takes that out of the states of the rows, on the versions
// that were committed. This last step is a courtesy to the next job, which would post the same again: errors are
// ignored.
func (b *Outbox) Committed(ctx context.Context, work []*folding.Device) (woken []schema.Target, err error) {
	work = slices.DeleteFunc(slices.Clone(work), func(d *folding.Device) bool { return d.Outcome() != commit.Committed })
	posted, woken, err := b.Post(ctx, work)
	if err != nil {
		return nil, fmt.Errorf("posting: %w", err)
	}
	var changes []*commit.Write
	for _, d := range posted {
		e := tables.Entity{PartitionKey: d.Member.Month.String(), RowKey: string(d.Member.Key())}
		states := map[string][]byte{}
		for processor := range d.Model.Watchers {
			states[processor.Name] = d.Row.States[processor.Name]
		}
		tracking.SetStates(&e, schema.TrackStates, states)
		free := commit.NewDevice(d.Member, d.Row) // whatever happens to this write, the device is done
		changes = append(changes, &commit.Write{Device: &free, Op: tables.Merge(e, d.Row.ETag),
			Compare: func(*tables.Entity) commit.Resolution { return commit.Resolution{Taken: true} }})
	}
	_ = commit.WriteAll(ctx, b.Client.Table(b.Names.Partitions(b.Pipeline)), changes)
	for i, c := range changes {
		if c.Done {
			posted[i].Row.ETag = c.ETag
		}
	}
	return woken, nil
}

// wake notes that targets have new deliveries, and returns those for which nobody had noted it.
func (b *Outbox) wake(ctx context.Context, posted map[fold.Output][]*commit.Write) (woken []schema.Target,
	err error) {
	of := map[schema.Target]bool{}
	for o := range posted {
		if o.Table == schema.Deliveries {
			of[schema.DeliveryTarget(o.PartitionKey)] = true
		}
	}
	for _, target := range slices.Sorted(maps.Keys(of)) {
		first, err := b.Notifier.Wake(ctx, target)
		if err != nil {
			return nil, fmt.Errorf("waking target %s: %w", target, err)
		}
		if first {
			woken = append(woken, target)
		}
	}
	return woken, nil
}
