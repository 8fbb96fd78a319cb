package jobs

import (
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
func newOutput(d *deviceRun, o fold.Output) (changes []*change) {
	cut := cutParts(d.effects[o].Properties)
	count := max(len(cut), d.track.Parts(o))
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
func emptied(written []*change) (changes []*change) {
	for _, c := range written {
		for n := c.parts + 1; n <= c.found; n++ {
			e := newPart(c.device, c.output, n, c.found, nil)
			e.look = true
			changes = append(changes, e)
		}
	}
	return changes
}

// newPart returns the change that writes one part of an output: it inserts a new one, and replaces an open one on the
// version that was written last.
func newPart(d *deviceRun, o fold.Output, n, count int, properties []tables.Property) *change {
	e := tables.Entity{PartitionKey: o.PartitionKey, RowKey: o.Part(n).RowKey, Properties: slices.Clone(properties)}
	e.Set(fold.FenceProperty, tables.Int64(int64(d.track.Fence)))
	schema.SetFormat(&e, d.track.Format)
	if n == 1 && count > 1 {
		e.Set(fold.PartsProperty, tables.Int32(int32(count)))
	}
	op := tables.Insert(e)
	if etag := d.track.Open[o.Part(n)]; etag != "" {
		op = tables.Replace(e, etag)
	}
	c := &change{device: d, op: op, output: o, parts: count, look: d.look}
	c.compare = func(found *tables.Entity) resolution {
		if found == nil && len(properties) == 0 {
			return resolution{done: true} // there is nothing to empty
		}
		if found != nil && n == 1 {
			c.higher(found)
		}
		return d.outranks(found)
	}
	return c
}

// higher records how many parts storage has. The first part says so until a job commits that has emptied them.
func (c *change) higher(found *tables.Entity) {
	c.found = max(c.found, min(int(found.Get(fold.PartsProperty).Int()), fold.MaxParts))
	if c.found > c.parts {
		c.op.Entity.Set(fold.PartsProperty, tables.Int32(int32(c.found)))
	}
}
