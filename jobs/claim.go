package jobs

import (
	"context"
	"fmt"

	"furrow/tables"
)

// FenceProperty is the property of every output that says how its writer ranks.
const FenceProperty = "_fence"

// A job writes what a batch of foldings came to.
type job struct {
	pipeline *Pipeline
	claim    string       // random: read back, it tells "it was us"
	now      tables.Ticks // of the service
	work     []*folding
}

// do claims, writes and commits.
func (j *job) do(ctx context.Context) error {
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"claiming", j.claimAll}, {"writing rejects", j.reject}, {"writing outputs", j.write},
		{"writing objects", j.objects}, {"committing", j.commit},
	} {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

// claimAll claims the devices that have something to write, before anything is
// written (invariant 4): whoever claims later outranks this job from then on.
func (j *job) claimAll(ctx context.Context) error {
	var changes []*change
	for _, d := range j.work {
		if !d.live() {
			continue
		}
		d.track.fence = max(d.track.fence+1, j.now)
		c := &change{device: d, op: d.track.claimed(d.member, d.track.fence, j.claim)}
		c.compare = func(found *tables.Entity) verdict {
			switch {
			case found == nil && c.op.Kind == tables.KindInsert:
				return verdict{} // not there yet: once more
			case found != nil && found.Get("Claim").Text() == j.claim:
				return verdict{done: true, etag: found.ETag}
			}
			return verdict{taken: true}
		}
		changes = append(changes, c)
	}
	if len(changes) == 0 {
		return nil
	}
	if err := together(ctx, j.pipeline.tracking(), changes); err != nil {
		return err
	}
	for _, c := range changes {
		c.device.track.etag = c.etag
	}
	return nil
}

// write writes the outputs, those of one partition together.
func (j *job) write(ctx context.Context) error {
	for _, group := range j.outputs() {
		err := together(ctx, j.pipeline.table(group[0].output.Kind), group)
		for _, c := range group {
			c.remember()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// outputs are the changes of all devices by partition.
func (j *job) outputs() (groups [][]*change) {
	of := map[Output]*folding{}
	for _, d := range j.work {
		if !d.live() {
			continue
		}
		for o, e := range d.effects {
			if e.Properties != nil {
				of[o] = d
			} else if e.Closed {
				delete(d.track.open, o)
			}
		}
	}
	var last Output
	for i, o := range sortedOutputs(of) {
		if i == 0 || o.Kind != last.Kind || o.PartitionKey != last.PartitionKey {
			groups = append(groups, nil)
		}
		at := len(groups) - 1
		groups[at], last = append(groups[at], newOutput(of[o], o)), o
	}
	return groups
}

// newOutput is the change that writes an output: a new one is inserted, an open
// one replaced on the version that was written last.
func newOutput(d *folding, o Output) *change {
	e := tables.Entity{PartitionKey: o.PartitionKey, RowKey: o.RowKey, Properties: d.effects[o].Properties}
	e.Properties = append(e.Properties[:len(e.Properties):len(e.Properties)],
		tables.Property{Name: FenceProperty, Value: tables.Int64(int64(d.track.fence))})
	op := tables.Insert(e)
	if etag := d.track.open[o]; etag != "" {
		op = tables.Replace(e, etag)
	}
	return &change{device: d, op: op, output: o, look: d.look, compare: func(found *tables.Entity) verdict {
		if found == nil {
			return verdict{}
		}
		fence := tables.Ticks(found.Get(FenceProperty).Int())
		return verdict{taken: fence > d.track.fence, done: fence == d.track.fence, etag: found.ETag}
	}}
}

// remember keeps the version of an output that later samples can change.
func (c *change) remember() {
	open := c.device.track.open
	if c.device.effects[c.output].Closed {
		delete(open, c.output)
	} else if c.done {
		open[c.output] = c.etag
	}
}

// commit moves the checkpoints, each with its state and ledger in one step, on
// the version that the claim made. From then on the rows are folded.
func (j *job) commit(ctx context.Context) error {
	var changes []*change
	for _, d := range j.work {
		if !d.live() {
			continue
		}
		d.track.ledger.Compact(j.now)
		d.track.generation = max(d.track.generation, j.pipeline.Generation)
		op, err := d.track.committed(d.member, j.claim)
		if err != nil {
			d.err = err
			continue
		}
		changes = append(changes, &change{device: d, op: op, compare: func(found *tables.Entity) verdict {
			switch {
			case found == nil || found.Get("Claim").Text() != j.claim:
				return verdict{taken: true}
			case found.Get("Committed").Text() == j.claim:
				return verdict{done: true, etag: found.ETag}
			case d.track.refold != d.track.read.refold && found.Get("Refold").Text() != d.track.read.refold.String():
				return verdict{taken: true} // somebody has rewound the device meanwhile: that must not be lost
			}
			return verdict{etag: found.ETag}
		}})
	}
	if len(changes) == 0 {
		return nil
	}
	err := together(ctx, j.pipeline.tracking(), changes)
	for _, c := range changes {
		if c.done {
			c.device.track.etag = c.etag
		}
	}
	return err
}
