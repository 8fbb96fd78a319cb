package commit

import (
	"context"
	"slices"
	"strings"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// cutParts divides the properties of an output. An empty one has one part.
func cutParts(all []tables.Property) [][]tables.Property {
	byName := func(a, b tables.Property) int { return strings.Compare(a.Name, b.Name) }
	if len(all) <= fold.PartSensors {
		return [][]tables.Property{all}
	}
	if !slices.IsSortedFunc(all, byName) {
		all = slices.SortedFunc(slices.Values(all), byName)
	}
	return slices.Collect(slices.Chunk(all, fold.PartSensors))
}

// newOutput returns the changes that write an output: its parts, and empty entities in place of the higher parts that
// it had before.
func newOutput(d *Device, o fold.Output) (changes []*Write) {
	cut := cutParts(d.Effects[o].Properties)
	count := max(len(cut), d.Row.Parts(o))
	for n := range count {
		var own []tables.Property
		if n < len(cut) {
			own = cut[n]
		}
		changes = append(changes, newPart(d, o, n+1, count, own))
	}
	return changes
}

// emptied returns the changes that empty parts beyond those that were written. An attempt without a commit has left
// them, or another configuration.
func emptied(written []*Write) (changes []*Write) {
	for _, c := range written {
		for n := c.parts + 1; n <= c.found; n++ {
			e := newPart(c.Device, c.Output, n, c.found, nil)
			e.look = true
			changes = append(changes, e)
		}
	}
	return changes
}

// newPart returns the change that writes one part of an output: it inserts a new one, and replaces an open one on the
// version that was written last.
func newPart(d *Device, o fold.Output, n, count int, properties []tables.Property) *Write {
	e := tables.Entity{PartitionKey: o.PartitionKey, RowKey: o.Part(n).RowKey, Properties: slices.Clone(properties)}
	e.Set(fold.FenceProperty, tables.Int64(int64(d.Row.Fence)))
	schema.SetFormat(&e, d.Row.Format)
	if n == 1 && count > 1 {
		e.Set(fold.PartsProperty, tables.Int32(int32(count)))
	}
	op := tables.Insert(e)
	if etag := d.Row.Open[o.Part(n)]; etag != "" {
		op = tables.Replace(e, etag)
	}
	c := &Write{Device: d, Op: op, Output: o, parts: count, look: d.Look}
	c.Compare = func(found *tables.Entity) Resolution {
		if found == nil && len(properties) == 0 {
			return Resolution{Done: true} // there is nothing to empty
		}
		if found != nil && n == 1 {
			c.higher(found)
		}
		return d.outranks(found)
	}
	return c
}

// higher records how many parts storage has. The first part says so until a job commits that has emptied them.
func (c *Write) higher(found *tables.Entity) {
	c.found = max(c.found, min(int(found.Get(fold.PartsProperty).Int()), fold.MaxParts))
	if c.found > c.parts {
		c.Op.Entity.Set(fold.PartsProperty, tables.Int32(int32(c.found)))
	}
}

// write writes the outputs, together for each partition.
func (a *Attempt) write(ctx context.Context) error {
	var last error
	for _, group := range a.outputs() {
		table := a.Client.Table(a.Names.Output(group[0].Output.Table))
		err := WriteAll(ctx, table, group)
		if more := emptied(group); err == nil && len(more) > 0 {
			err, group = WriteAll(ctx, table, more), append(group, more...)
		}
		for _, c := range group {
			c.remember()
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil { // of this partition: others may work
			last = err
			for _, c := range Undone(group) {
				c.Device.Unavailable(err)
			}
		}
	}
	if last != nil && !slices.ContainsFunc(a.Work, (*Device).live) {
		return last
	}
	return nil
}

// outputs returns the changes of all devices by partition.
func (a *Attempt) outputs() (groups [][]*Write) {
	of := map[fold.Output]*Device{}
	for _, d := range a.Work {
		if !d.live() {
			continue
		}
		for o, e := range d.Effects {
			if e.IsMark() {
				d.leaveMark(e.MarkFor(d.Member.Device, d.Horizon, a.Now))
				continue
			}
			if !a.Keeps(d.Member, e, a.Clock.Surely(a.Now, 0)) {
				d.Row.Close(o)
				continue
			}
			if blank := len(e.Properties) == 0 && !d.Look && d.Row.Parts(o) == 0; e.Properties != nil && !blank {
				of[o] = d
				d.leaveMark(e.Mark)
			} else if e.Closed {
				d.Row.Close(o)
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
func (d *Device) outranks(found *tables.Entity) Resolution {
	if found == nil {
		return Resolution{}
	}
	fence := tables.Ticks(found.Get(fold.FenceProperty).Int())
	return Resolution{Taken: fence > d.Row.Fence, Done: fence == d.Row.Fence, ETag: found.ETag}
}

// remember keeps the version of an output that later samples can change.
func (c *Write) remember() {
	open, part := c.Device.Row.Open, c.Output
	part.RowKey = c.Op.Entity.RowKey
	if c.Device.Effects[c.Output].Closed {
		delete(open, part)
	} else if c.Done && c.ETag != "" {
		open[part] = c.ETag
	}
}
