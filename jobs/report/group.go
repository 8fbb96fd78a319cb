package report

import (
	"maps"
	"slices"

	"furrow/jobs/fold"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
)

// A group is what is reported together.
type group struct {
	by      schema.By
	name    string
	devices int64 // with a number
	stored  schema.Stored
	sensors map[string]*Aggregate
	rest    map[string]bool // names of further sensors, at most maxRest
}

// A report has the first sensors by name, and counts the others as far as this.
const maxRest = 10_000

// add adds a device's bucket.
func (g *group) add(values map[string]rollup.Timed, stored schema.Stored) {
	if stored.Rows > 0 {
		stored.Devices = 1
		g.stored.Add(stored)
	}
	if len(values) == 0 {
		return
	}
	g.devices++
	for sensor, v := range values {
		a := g.sensors[sensor]
		if a == nil {
			a = &Aggregate{}
			g.sensors[sensor] = a
		}
		a.Join(Aggregate{v, 1})
	}
	if len(g.sensors) > 2*fold.MaxSensors {
		g.trim()
	}
}

// trim keeps the first sensors by name. One that goes may come back with another device and lack its numbers then, but
// as many others come before it, so it goes again.
func (g *group) trim() {
	if len(g.sensors) <= fold.MaxSensors {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(g.sensors))[fold.MaxSensors:] {
		delete(g.sensors, name)
		if len(g.rest) < maxRest {
			g.rest[name] = true
		}
	}
}

// entities returns the rows of a report: its parts.
func (g *group) entities(partition string, bucket tables.Ticks) (rows []tables.Entity) {
	g.trim()
	properties := []tables.Property{{Name: schema.DevicesProperty, Value: tables.Int64(g.devices)}}
	if len(g.rest) > 0 {
		properties = append(properties, tables.Property{Name: schema.MoreProperty, Value: tables.Int64(int64(len(g.rest)))})
	}
	if g.stored.Rows > 0 {
		properties = append(properties, tables.Property{Name: schema.StoredProperty, Value: tables.String(g.stored.String())})
	}
	for _, name := range slices.Sorted(maps.Keys(g.sensors)) {
		properties = append(properties, tables.Property{Name: name, Value: tables.String(g.sensors[name].String())})
	}
	row := schema.ReportRow{By: g.by, Group: g.name, Bucket: bucket}
	for part := range slices.Chunk(properties, partProperties) {
		row.Part++
		rows = append(rows, tables.Entity{PartitionKey: partition, RowKey: row.String(), Properties: part})
	}
	return rows
}

// partProperties is how many properties a row has.
const partProperties = 200
