package plan

import (
	"context"

	"furrow/tables/schema"
)

// batches cuts devices into batches, in order. Those of a partition share a batch with the partitions before if all of
// them fit: a batch over several partitions has each of them completely, so that reading it reads nothing else.
type batches struct {
	size int
	put  func(context.Context, group) error

	whole  group // devices of whole partitions before the current one
	part   group // devices of the current partition
	cut    bool  // a batch ends within the current partition, so its rest shares none with the next
	passed int   // devices after the last one that rest
}

// A group is devices in order, between which there may be others.
type group struct {
	after       schema.Place // the device before the first, of whatever batch
	first, last schema.Place
	devices     []schema.Place
	before      int // devices that rest before the first
	passed      int // between the first and the last
}

// maxList is how many bytes the names of a list may have together, so that a message holds it. Others are left out: the
// job looks at those that rest as well.
const maxList = 36 << 10

// text returns how many bytes the names of the devices take in a list.
func (g *group) text() (n int) {
	for _, d := range g.devices {
		n += len(d.String()) + len(`"",`)
	}
	return n
}

func (g *group) add(o group) {
	if len(g.devices) == 0 {
		g.after, g.first, g.before = o.after, o.first, o.before
	} else {
		g.passed += o.before
	}
	g.last, g.passed = o.last, g.passed+o.passed
	g.devices = append(g.devices, o.devices...)
}

// add adds a device after another one, and puts what is full.
func (b *batches) add(ctx context.Context, place, after schema.Place) error {
	b.part.add(group{after: after, first: place, last: place, devices: []schema.Place{place}, before: b.passed})
	if b.passed = 0; len(b.part.devices) < b.size {
		return nil
	}
	b.cut = true
	if err := b.flush(ctx, &b.whole); err != nil {
		return err
	}
	return b.flush(ctx, &b.part)
}

// endPartition ends a partition.
func (b *batches) endPartition(ctx context.Context) error {
	if b.cut || len(b.whole.devices)+len(b.part.devices) > b.size {
		if err := b.flush(ctx, &b.whole); err != nil {
			return err
		}
	}
	if b.cut {
		return b.flush(ctx, &b.part)
	}
	if len(b.part.devices) > 0 {
		b.whole.add(b.part)
		b.part = group{}
	}
	return nil
}

func (b *batches) flush(ctx context.Context, g *group) error {
	if len(g.devices) == 0 {
		return nil
	}
	full := *g
	*g = group{}
	return b.put(ctx, full)
}

// waiting returns the device before those that are not put yet, if there are any.
func (b *batches) waiting() (after schema.Place, waits bool) {
	for _, g := range []group{b.whole, b.part} {
		if len(g.devices) > 0 {
			return g.after, true
		}
	}
	return after, false
}
