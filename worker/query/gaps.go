package query

import (
	"context"
	"iter"
	"time"

	"furrow/tables"
	"furrow/tables/made"
	"furrow/tables/schema"
)

// A GapDay is what the numbers of a device's readings say about one day, in UTC. Package made says what they cannot.
//
// It is counted when it is asked for, from the raw rows of the span, and not by folds. So late rows and imports change
// it at once, a model that is changed needs no refold, and no run needs another operation or more state for a report
// that few people read. A thousand rows cost one request.
type GapDay struct {
	Device schema.DeviceID
	made.Day
}

// A NumberGap is a range of missing numbers, as it is shown.
type NumberGap struct {
	// Name of the boot, as in row keys. Absent for numbers in a property.
	Boot   string    `json:"boot,omitempty"`
	From   uint64    `json:"from"`           // the first one
	To     uint64    `json:"to"`             // The last one. It is less than from where a counter wrapped.
	After  time.Time `json:"after,omitzero"` // time of the reading with the number before; absent at the beginning of a boot
	Before time.Time `json:"before"`         // time of the reading with the number after
}

// NumberGaps returns the first gaps of the day.
func (d GapDay) NumberGaps() (all []NumberGap) {
	for _, g := range d.Gaps {
		n := NumberGap{Boot: g.Boot, From: g.From, To: g.To, Before: g.Before.Time()}
		if g.After != 0 {
			n.After = g.After.Time()
		}
		all = append(all, n)
	}
	return all
}

// Gaps yields the days of the question's span, device after device. Numbers are in the row keys, or in the property
// that the model of a device names. Days without any are left out. The question has no condition.
func (f Rows) Gaps(ctx context.Context, q Question) iter.Seq2[GapDay, error] {
	limit := q.Limit
	q.Limit = 0 // of rows
	days := func(m schema.Member) source[GapDay] { return f.gapsOf(q, m) }
	return Limited(inOrder(ctx, Mapped(Devices(f).selectedMembers(ctx, q), days), true), limit)
}

// gapsOf reads the row keys of a device, and its sequence numbers.
func (f Rows) gapsOf(q Question, m schema.Member) source[GapDay] {
	sequence := sequenceOf(q.Models.modelOf(m))
	if q.Sensors = nil; sequence != "" {
		q.Sensors = []string{sequence}
	}
	rows := q.readings(f, m, nil)
	if sequence == "" {
		rows.query.Select = []string{schema.FormatProperty} // the keys alone
	}
	return func(ctx context.Context, afterPage func(tables.Page) bool) iter.Seq2[GapDay, error] {
		return gapDays(sequence, m, q, rows.entities(ctx, afterPage))
	}
}

// sequenceOf returns the property with the number of a reading; empty where the model, which may be nil, names none.
func sequenceOf(m *Model) string {
	if m == nil || m.Sensors == nil {
		return ""
	}
	return m.Sensors.Sequence
}

// gapDays counts the rows of a device. Between the spans of its tenant it belonged to others, whose numbers are not
// known.
func gapDays(
	sequence string, m schema.Member, q Question, rows iter.Seq2[tables.Entity, error],
) iter.Seq2[GapDay, error] {
	return func(yield func(GapDay, error) bool) {
		var c made.Counter
		numbered := func(days []made.Day) bool {
			for _, d := range days {
				if d.Readings > 0 && !yield(GapDay{m.Device, d}, nil) {
					return false
				}
			}
			return true
		}
		span := 0
		for e, err := range rows {
			if err != nil && !yield(GapDay{}, err) {
				return
			}
			key, invalid := schema.ParseRowKey(e.RowKey)
			if err != nil || invalid != nil || !m.Has(key.Ticks) {
				continue
			}
			for ; span < len(m.Spans) && m.Spans[span].To != 0 && m.Spans[span].To <= key.Ticks; span++ {
				c.Break()
			}
			number, has := numberOf(sequence, q.sensorsOfReading(e))
			if c.Take(key, number, has); !numbered(c.Over()) {
				return
			}
		}
		numbered(c.End())
	}
}

// numberOf returns the number in a property of a reading, as it was sent.
func numberOf(name string, values []tables.Property) (uint64, bool) {
	for _, p := range values {
		if p.Name == name {
			return made.NumberOf(p.Value)
		}
	}
	return 0, false
}
