package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// A job writes the results of a batch of device runs.
type job struct {
	pipeline *Pipeline
	claim    string       // random: shows that a row was written by this job
	now      tables.Ticks // of the service
	work     []*deviceRun
	woken    []schema.Target // targets that nobody had woken before
}

// do claims, writes and commits.
func (j *job) do(ctx context.Context) error {
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"claiming", j.claimAll}, {"writing rejects", j.reject},
		{"writing acknowledgements", j.acknowledge}, {"writing outputs", j.write},
		{"writing objects", j.objects}, {"committing", j.commit},
		{"posting", j.post},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// claimAll claims the devices that have something to write, before anything is written. Whoever claims later outranks
// this job from then on.
func (j *job) claimAll(ctx context.Context) error {
	var changes []*change
	at := j.now
	for _, d := range j.work {
		at = max(at, d.seen)
	}
	for _, d := range j.work {
		if !d.live() || d.held {
			continue
		}
		d.track.Fence = max(d.track.Fence+1, j.now)
		d.track.Format = max(d.track.Format, j.pipeline.Format)
		h := d.track.Hold.Next(j.claim, at, cmp.Or(d.holdFor, j.pipeline.hold()))
		c := &change{device: d, op: d.track.Claimed(d.member, d.track.Fence, h)}
		c.compare = func(found *tables.Entity) resolution {
			switch {
			case found == nil && c.op.Kind == tables.KindInsert:
				return resolution{} // not there yet: try again
			case found != nil && found.Get(schema.TrackClaim).Text() == j.claim:
				return resolution{done: true, etag: found.ETag}
			}
			return resolution{taken: true}
		}
		d.track.Hold = h
		changes = append(changes, c)
	}
	err := j.track(ctx, changes)
	for _, c := range changes {
		if d := c.device; c.done {
			d.track.ETag, d.held = c.etag, true
		}
	}
	return err
}

// track writes changes of tracking rows, together for each partition.
func (j *job) track(ctx context.Context, changes []*change) error {
	for len(changes) > 0 {
		pk, n := changes[0].op.Entity.PartitionKey, 0
		for n < len(changes) && changes[n].op.Entity.PartitionKey == pk {
			n++
		}
		if err := writeBatch(ctx, j.pipeline.tracking(), changes[:n]); err != nil {
			return err
		}
		changes = changes[n:]
	}
	return nil
}

// giveBackWithin bounds how long a failed job takes to give back its claims.
const giveBackWithin = 5 * time.Second

// giveBack ends the claims that were not committed, so that other jobs need not wait for the end of their holds. This
// is a courtesy: errors are ignored.
func (j *job) giveBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackWithin)
	defer cancel()
	var changes []*change
	for _, d := range j.work {
		if !d.held || d.dropped {
			continue
		}
		e := tables.Entity{PartitionKey: d.member.Month.String(), RowKey: string(d.member.Key())}
		e.Set(schema.TrackClaim, tables.String(""))
		free := d.on(d.track) // whatever happened to the device itself
		changes = append(changes, &change{device: free, op: tables.Merge(e, d.track.ETag),
			compare: func(found *tables.Entity) resolution {
				if found == nil || found.Get(schema.TrackClaim).Text() != j.claim ||
					found.Get(schema.TrackCommitted).Text() == j.claim {
					return resolution{done: true}
				}
				return resolution{etag: found.ETag}
			}})
	}
	_ = j.track(ctx, changes)
}

// write writes the outputs, together for each partition.
func (j *job) write(ctx context.Context) error {
	var last error
	for _, group := range j.outputs() {
		table := j.pipeline.Client.Table(j.pipeline.Names.Output(group[0].output.Table))
		err := writeBatch(ctx, table, group)
		if more := emptied(group); err == nil && len(more) > 0 {
			err, group = writeBatch(ctx, table, more), append(group, more...)
		}
		for _, c := range group {
			c.remember()
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil { // of this partition: others may work
			last = err
			for _, c := range undone(group) {
				c.device.unavailable(err)
			}
		}
	}
	if last != nil && !slices.ContainsFunc(j.work, (*deviceRun).live) {
		return last
	}
	return nil
}

// outputs returns the changes of all devices by partition.
func (j *job) outputs() (groups [][]*change) {
	of := map[fold.Output]*deviceRun{}
	for _, d := range j.work {
		if !d.live() {
			continue
		}
		for o, e := range d.effects {
			if e.IsMark() {
				d.leaveMark(e.MarkFor(d.member.Device, d.horizon, j.now))
				continue
			}
			if !j.pipeline.keeps(d, e, surely(j.now, 0)) {
				d.track.Close(o)
				continue
			}
			if blank := len(e.Properties) == 0 && !d.look && d.track.Parts(o) == 0; e.Properties != nil && !blank {
				of[o] = d
				d.leaveMark(e.Mark)
			} else if e.Closed {
				d.track.Close(o)
			}
		}
	}
	var last fold.Output
	for i, o := range fold.SortedOutputs(of) {
		if i == 0 || o.Table != last.Table || o.PartitionKey != last.PartitionKey {
			groups = append(groups, nil)
		}
		at := len(groups) - 1
		groups[at], last = append(groups[at], newOutput(of[o], o)...), o
	}
	return groups
}

// outranks compares the fence of an existing output with the device's own.
func (d *deviceRun) outranks(found *tables.Entity) resolution {
	if found == nil {
		return resolution{}
	}
	fence := tables.Ticks(found.Get(fold.FenceProperty).Int())
	return resolution{taken: fence > d.track.Fence, done: fence == d.track.Fence, etag: found.ETag}
}

// remember keeps the version of an output that later samples can change.
func (c *change) remember() {
	open, part := c.device.track.Open, c.output
	part.RowKey = c.op.Entity.RowKey
	if c.device.effects[c.output].Closed {
		delete(open, part)
	} else if c.done && c.etag != "" {
		open[part] = c.etag
	}
}

// commit moves the checkpoints, each with its state and ledger in one step, on the version that the claim made. From
// then on the rows are folded.
func (j *job) commit(ctx context.Context) error {
	var changes []*change
	for _, d := range j.work {
		if !d.live() {
			continue
		}
		d.track.Ledger.Compact(j.now)
		j.setMarks(d)
		d.track.Generation = max(d.track.Generation, j.pipeline.Generation)
		op := d.track.Committed(d.member, j.claim)
		changes = append(changes, &change{device: d, op: op, compare: func(found *tables.Entity) resolution {
			switch {
			case found == nil || found.Get(schema.TrackClaim).Text() != j.claim:
				return resolution{taken: true}
			case found.Get(schema.TrackCommitted).Text() == j.claim:
				return resolution{done: true, etag: found.ETag}
			case d.track.Refolded() && (found.Get(schema.TrackRefold).Text() != d.track.Read.Refold.String() ||
				found.Get(schema.TrackRefoldRow).Text() != d.track.Read.Row):
				return resolution{taken: true} // somebody has rewound the device meanwhile, which must not be lost
			}
			return resolution{etag: found.ETag}
		}})
	}
	err := j.commitAll(ctx, changes)
	for _, c := range changes {
		if c.done {
			c.device.track.ETag, c.device.held, c.device.done = c.etag, false, true
			c.device.track.Hold.Committed, c.device.track.Hold.Takeovers = j.claim, 0
		}
	}
	return err
}

// setMarks sets the IDs of the messages that are put after the commit.
func (j *job) setMarks(d *deviceRun) {
	t := d.track
	until := max(j.now, d.seen).Add(j.pipeline.marks())
	switch {
	case d.behind && t.Read.Chain.ID == "":
		t.Chain = tracking.Mark{ID: j.claim} // it waits for its turn
	case d.behind:
		t.Chain = tracking.Mark{ID: j.claim, Until: until}
	}
	switch {
	case t.Refold.Empty():
		t.RefoldMark = tracking.Mark{}
	case t.Refolded():
		t.RefoldMark = tracking.Mark{ID: j.claim, Until: until}
	}
}

// auditClaim is the prefix of audits' claims.
const auditClaim = "audit-"

// isChanged reports whether a write was refused because the row has another version or is gone.
func isChanged(err error) bool {
	return errors.Is(err, tables.ErrConflict) || errors.Is(err, tables.ErrExists) || errors.Is(err, tables.ErrNotFound)
}
