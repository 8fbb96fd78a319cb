package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"furrow/jobs/commit"
	"furrow/jobs/fold"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/commands"
	"furrow/tables/schema"
)

// watch calls the watchers with samples, or with time if there are none, and returns how many samples they left. They
// see no row that is folded again.
func (d *deviceRun) watch(samples []fold.Sample, at fold.Moment) (left int, err error) {
	if d.again || len(samples) == 0 && at.Until == 0 {
		return 0, nil
	}
	for processor, w := range d.model.Watchers {
		state := d.Row.State(processor.Name)
		taken := samples[:len(samples)-left]
		out, err := d.timed(processor, len(taken), func() (fold.Result, error) {
			return w.Watch(d.Member, state, taken, at)
		})
		if err != nil {
			return 0, err
		}
		if !bytes.Equal(out.State, state) {
			d.Row.States[processor.Name], d.Dirty = out.State, true
		}
		left += out.Left
	}
	return left, nil
}

// post writes what the committed states of devices hold for it, and takes it out of the states in memory. It returns
// the devices whose states it changed. A partition that cannot be written is an error of its devices alone. Targets
// with new deliveries are woken before anything leaves a state; it returns those that nobody had woken before.
func (p *Pipeline) post(ctx context.Context, work []*deviceRun) (posted []*deviceRun, woken []schema.Target,
	err error) {
	of := map[fold.Output][]*commit.Write{} // by partition
	rest := map[*deviceRun]map[string][]byte{}
	for _, d := range work {
		d.told = nil
		states, changes, err := p.postsOf(d)
		if err != nil {
			d.Err = err
			continue
		}
		for _, told := range d.told {
			if err := p.send(ctx, told); err != nil {
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
		err := commit.WriteAll(ctx, p.Client.Table(p.Names.Output(o.Table)), of[o])
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if err != nil {
			for _, c := range commit.Undone(of[o]) {
				c.Device.Unavailable(err)
			}
		}
	}
	if woken, err = p.wake(ctx, of); err != nil {
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

// postsOf returns what a device's states hold to be inserted or deleted, and the states without it.
func (p *Pipeline) postsOf(d *deviceRun) (rest map[string][]byte, changes []*commit.Write, err error) {
	for processor, w := range d.model.Watchers {
		state := d.Row.State(processor.Name)
		if state == nil {
			continue
		}
		posts, without, err := w.Posts(d.Member, state)
		if err != nil {
			return nil, nil, err
		}
		if len(posts) == 0 {
			continue
		}
		if err := processor.Check(posts); err != nil {
			return nil, nil, err
		}
		if rest == nil {
			rest = map[string][]byte{}
		}
		rest[processor.Name] = without
		for _, post := range posts {
			if post.Command != nil {
				d.told = append(d.told, post)
				continue
			}
			o := post.Output
			e := tables.Entity{PartitionKey: o.PartitionKey, RowKey: o.RowKey, Properties: slices.Clone(post.Properties)}
			schema.SetFormat(&e, max(p.Format, d.Row.Format))
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
	return rest, changes, nil
}

// send sends a command of a Watcher, once. If the device's list is full, it writes what is to be written instead, and
// the command is never sent.
func (p *Pipeline) send(ctx context.Context, told fold.Effect) error {
	instead := p.Client.Table(p.Names.Output(told.Output.Table))
	_, err := instead.Get(ctx, told.Output.PartitionKey, told.Output.RowKey)
	if err == nil {
		return nil // an earlier job found the list full
	}
	if !errors.Is(err, tables.ErrNotFound) && !errors.Is(err, tables.ErrNoTable) {
		return err
	}
	err = commands.Of(p.Client, p.Names).Insert(ctx, *told.Command)
	if !errors.Is(err, commands.ErrFull) {
		return err
	}
	e := tables.Entity{PartitionKey: told.Output.PartitionKey, RowKey: told.Output.RowKey, Properties: told.Properties}
	if _, err = instead.Do(ctx, tables.Insert(e)); errors.Is(err, tables.ErrExists) {
		return nil
	}
	return err
}

// postLeft posts what earlier jobs had committed when they died.
func (p *Pipeline) postLeft(ctx context.Context, work []*deviceRun) (woken []schema.Target, err error) {
	readable := slices.DeleteFunc(slices.Clone(work), func(d *deviceRun) bool { return d.Err != nil })
	posted, woken, err := p.post(ctx, readable)
	for _, d := range posted {
		d.posted = true
	}
	return woken, err
}

// postCommitted posts what has just been committed. Then it takes that out of the states of the rows, on the versions
// that were committed. This last step is a courtesy to the next job, which would post the same again: errors are
// ignored.
func (p *Pipeline) postCommitted(ctx context.Context, work []*deviceRun) (woken []schema.Target, err error) {
	work = slices.DeleteFunc(slices.Clone(work), func(d *deviceRun) bool { return d.Outcome() != commit.Committed })
	posted, woken, err := p.post(ctx, work)
	if err != nil {
		return nil, fmt.Errorf("posting: %w", err)
	}
	var changes []*commit.Write
	for _, d := range posted {
		e := tables.Entity{PartitionKey: d.Member.Month.String(), RowKey: string(d.Member.Key())}
		states := map[string][]byte{}
		for processor := range d.model.Watchers {
			states[processor.Name] = d.Row.States[processor.Name]
		}
		tracking.SetStates(&e, schema.TrackStates, states)
		free := commit.NewDevice(d.Member, d.Row, nil) // whatever happens to this write, the device is done
		changes = append(changes, &commit.Write{Device: &free, Op: tables.Merge(e, d.Row.ETag),
			Compare: func(*tables.Entity) commit.Resolution { return commit.Resolution{Taken: true} }})
	}
	_ = commit.WriteAll(ctx, p.tracking(), changes)
	for i, c := range changes {
		if c.Done {
			posted[i].Row.ETag = c.ETag
		}
	}
	return woken, nil
}
