package jobs

import (
	"slices"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// An output has a property for each sensor, and Azure takes 252 in an entity. An output of more sensors is several
// entities, its parts: the first has the output's own key, the others a suffix that sorts right after it. Parts are cut
// from the sorted names of the output's sensors, so they depend on nothing else.
const (
	partSensors = 201 // five parts have room for MaxSensors and what is reserved
	maxParts    = (MaxSensors + reserved + partSensors - 1) / partSensors
	reserved    = 3 // properties of an output besides sensors, as IsReserved
)

// PartsProperty is a property of the first part of an output with several parts: how many parts storage has, including
// those that are empty now.
const PartsProperty = "_parts"

// Properties of outputs that tell what no sensor does.
const (
	// HeardProperty is the time, in ticks, of a device's newest reading without values, such as a heartbeat. The table
	// latest has it where no value is newer.
	HeardProperty = "_heard"
	// ReadingsProperty is the number of readings in a bucket of rollups. Without it, that is the greatest count of a
	// sensor: each reading has a number of that sensor.
	ReadingsProperty = "_readings"
)

// IsReserved reports whether a property of an output is not a sensor's.
func IsReserved(name string) bool {
	switch name {
	case FenceProperty, PartsProperty, HeardProperty, ReadingsProperty, schema.FormatProperty, schema.SiteProperty,
		schema.LabelsProperty, schema.DevicesProperty, schema.MoreProperty, schema.StoredProperty:
		return true
	}
	return false
}

// cutParts divides the properties of an output. An empty one has one part.
func cutParts(all []tables.Property) [][]tables.Property {
	byName := func(a, b tables.Property) int { return strings.Compare(a.Name, b.Name) }
	if len(all) <= partSensors {
		return [][]tables.Property{all}
	}
	if !slices.IsSortedFunc(all, byName) {
		all = slices.SortedFunc(slices.Values(all), byName)
	}
	return slices.Collect(slices.Chunk(all, partSensors))
}

// part returns the output that the nth part of o is written as, counted from 1.
func (o Output) part(n int) Output {
	o.RowKey = schema.PartKey(o.RowKey, n)
	return o
}

// parts returns how many parts of an open output were written.
func (t *track) parts(o Output) (n int) {
	for n < maxParts {
		if _, open := t.open[o.part(n+1)]; !open {
			break
		}
		n++
	}
	return n
}

// close forgets the versions of an output that no later sample changes.
func (t *track) close(o Output) {
	for n := range maxParts {
		delete(t.open, o.part(n+1))
	}
}

// newOutput returns the changes that write an output: its parts, and empty entities in place of the higher parts that
// it had before.
func newOutput(d *deviceRun, o Output) (changes []*change) {
	cut := cutParts(d.effects[o].Properties)
	count := max(len(cut), d.track.parts(o))
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
func newPart(d *deviceRun, o Output, n, count int, properties []tables.Property) *change {
	e := tables.Entity{PartitionKey: o.PartitionKey, RowKey: o.part(n).RowKey, Properties: slices.Clone(properties)}
	e.Set(FenceProperty, tables.Int64(int64(d.track.fence)))
	schema.SetFormat(&e, d.track.format)
	if n == 1 && count > 1 {
		e.Set(PartsProperty, tables.Int32(int32(count)))
	}
	op := tables.Insert(e)
	if etag := d.track.open[o.part(n)]; etag != "" {
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
	c.found = max(c.found, min(int(found.Get(PartsProperty).Int()), maxParts))
	if c.found > c.parts {
		c.op.Entity.Set(PartsProperty, tables.Int32(int32(c.found)))
	}
}
