package folding

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"furrow/jobs/commit"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// addRefusal adds one more refusal to the reject of its reading.
func addRefusal(e *schema.Reject, r fold.Refusal, row *tables.Entity) {
	reason := r.Reason
	if r.Sensor != "" {
		reason = r.Sensor + ": " + r.Reason
		e.Sensor = join(e.Sensor, ", ", r.Sensor)
		e.Value = join(e.Value, ", ", valueText(row, r.Sensor))
	}
	e.Reason = join(e.Reason, "; ", reason)
}

// join appends to a text that will be clipped, without letting it grow too long.
func join(text, separator, more string) string {
	switch {
	case text == "":
		return tables.Clip(more, commit.MaxReason)
	case len(text) > commit.MaxReason || more == "":
		return text
	}
	return text + separator + tables.Clip(more, commit.MaxReason)
}

// valueText returns what a sensor sent. For a sensor within an object, that is the object's property.
func valueText(row *tables.Entity, sensor string) string {
	if row == nil {
		return ""
	}
	var found *tables.Property
	for i := range row.Properties {
		p := &row.Properties[i]
		if p.Name == sensor || strings.HasPrefix(sensor, p.Name+"_") && (found == nil || len(found.Name) < len(p.Name)) {
			found = p
		}
	}
	if found == nil {
		return ""
	}
	return tables.Clip(found.Value.String(), commit.MaxValue)
}

// rowText returns a row for people, with its original properties.
func rowText(row *tables.Entity) string {
	if row == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(row.RowKey)
	for _, p := range row.Properties {
		fmt.Fprintf(&b, " %s=%s", p.Name, p.Value)
		if b.Len() > commit.MaxRowText {
			break
		}
	}
	return tables.Clip(b.String(), commit.MaxRowText)
}

// refuse records what is wrong with a reading that is being folded.
func (d *Device) refuse(r fold.Refusal, row *tables.Entity) {
	if d.refused == nil {
		d.refused = map[string]*schema.Reject{}
	}
	e := d.refused[r.Row]
	if e == nil {
		e = &schema.Reject{Row: r.Row, Reading: rowText(row)}
		d.refused[r.Row] = e
	}
	addRefusal(e, r, row)
}

// countRejects counts each reading with a refused value once, in the order of their keys, so the ring does not depend
// on how the work was cut.
func (d *Device) countRejects() {
	for _, e := range slices.SortedFunc(maps.Values(d.refused), func(a, b *schema.Reject) int {
		return cmp.Compare(a.Row, b.Row)
	}) {
		d.Weight += d.Rejects.Add(*e)
	}
	d.refused = nil
}

// acknowledge takes the acknowledgement of a command out of a reading, if it has one and the pipeline is the one that
// writes them. It does not depend on the device's model.
func (d *Device) acknowledge(row *tables.Entity) {
	said := row.Get(schema.AckProperty)
	if said == (tables.Value{}) || !d.Model.Acknowledges() {
		return
	}
	ack, err := schema.ParseAck(*row, said)
	if err != nil {
		d.refuse(fold.Refusal{Row: row.RowKey, Sensor: schema.AckProperty, Reason: err.Error()}, row)
		return
	}
	d.Acks = append(d.Acks, ack)
	e := ack.Entity()
	d.Weight += e.Size()
}
