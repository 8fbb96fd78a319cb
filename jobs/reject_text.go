package jobs

import (
	"fmt"
	"strings"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// Bounds of a reject, in bytes.
const (
	maxReason  = 2 << 10
	maxValue   = 1 << 10
	maxRowText = 16 << 10
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
		return tables.Clip(more, maxReason)
	case len(text) > maxReason || more == "":
		return text
	}
	return text + separator + tables.Clip(more, maxReason)
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
	return tables.Clip(found.Value.String(), maxValue)
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
		if b.Len() > maxRowText {
			break
		}
	}
	return tables.Clip(b.String(), maxRowText)
}
