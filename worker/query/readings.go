package query

import (
	"context"
	"iter"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Reading is a row as its device wrote it, with the requested sensors.
type Reading struct {
	Device schema.DeviceID
	Row    string       // its RowKey
	Time   tables.Ticks // of the RowKey; zero where it has none
	Values []tables.Property
	Model  *Model         // of the device; nil: unknown
	Member *schema.Member // whose span it is in; nil: unknown
}

// Read checks the reading as a job does.
func (r Reading) Read() (schema.Reading, error) {
	return schema.ReadingOf(tables.Entity{PartitionKey: string(r.Device), RowKey: r.Row, Properties: r.Values})
}

// Sample interprets the reading as a pipeline with these settings of sensors does.
func (r Reading) Sample(sensors *fold.Sensors) (fold.Sample, error) {
	reading, err := r.Read()
	if err != nil {
		return fold.Sample{}, err
	}
	sample, _ := sensors.Sample(reading)
	return sample, nil
}

// Readings yields the readings of the span: device after device, each in row order. Those of a tenant are in the order
// of its devices in the table fleet.
func (f Rows) Readings(ctx context.Context, q Question) iter.Seq2[Reading, error] {
	return Limited(inOrder(ctx, f.readingSources(ctx, q), q.Filter.Where != nil), q.Limit)
}

// readingSources are the readings of each device.
func (f Rows) readingSources(ctx context.Context, q Question) iter.Seq2[source[Reading], error] {
	of := func(m schema.Member) source[Reading] { return f.readingsOf(q, m) }
	return Mapped(Devices(f).selectedMembers(ctx, q), of)
}

// readingsOf reads those of a device. The condition is on whole rows, before other sensors are left out.
func (f Rows) readingsOf(q Question, m schema.Member) source[Reading] {
	model := q.Models.modelOf(m)
	return func(ctx context.Context, afterPage func(tables.Page) bool) iter.Seq2[Reading, error] {
		rows := q.readings(f, m, model).entities(ctx, afterPage)
		return decoded(nil, rows, func(e tables.Entity, _ report) (Reading, bool) {
			if !m.Has(tables.TicksBefore(e.RowKey)) || !q.holds(model, m, e) {
				return Reading{}, false
			}
			values := q.valuesAsSent(model, e)
			r := Reading{Device: m.Device, Row: e.RowKey, Time: TimeOf(e.RowKey), Values: values, Model: model,
				Member: &m}
			return r, len(values) > 0 || len(q.Sensors) == 0
		})
	}
}

// A MemberQuestion asks for the readings of one membership. The scope of its question does not matter.
type MemberQuestion struct {
	Question
	Member schema.Member
	Rows   Rows // where they are
}

// ReadingsOf yields the readings of memberships, one after the other, each in row order.
func ReadingsOf(ctx context.Context, all iter.Seq2[MemberQuestion, error]) iter.Seq2[Reading, error] {
	of := func(q MemberQuestion) source[Reading] { return q.Rows.readingsOf(q.Question, q.Member) }
	return inOrder(ctx, Mapped(all, of), false)
}

// holds reports whether the condition holds for a row. It holds for none that is not a reading.
func (q Question) holds(model *Model, m schema.Member, e tables.Entity) bool {
	if q.Filter.Where == nil {
		return true
	}
	r, err := schema.ReadingOf(e)
	return err == nil && q.Filter.Where.Holds(model.Row(r, m.Labels))
}

// Reading returns one reading of the one device of a question; false where there is no such row.
func (f Rows) Reading(ctx context.Context, q Question, row string) (Reading, bool, error) {
	m := q.Scope.Member()
	if !m.Has(tables.TicksBefore(row)) {
		return Reading{}, false, nil
	}
	e, err := f.Tables.Table(m.Readings).Get(ctx, string(m.Device), row)
	if tables.Absent(err) {
		return Reading{}, false, nil
	}
	model := q.Models.modelOf(m)
	return Reading{Device: m.Device, Row: e.RowKey, Time: TimeOf(e.RowKey), Values: q.valuesAsSent(model, e),
		Model: model}, err == nil, err
}

// TimeOf returns the time in the row key of a reading; zero where it is not such a key.
func TimeOf(row string) tables.Ticks {
	key, err := schema.ParseRowKey(row)
	if err != nil {
		return 0
	}
	return key.Ticks
}

// readings reads the rows of a device that the question asks for. The model says which properties its sensors are in;
// nil: those of their names.
func (q Question) readings(f Rows, m schema.Member, model *Model) read {
	if len(q.Sensors) > 0 {
		q.Limit = 0 // rows without any of them are left out
	}
	q.Sensors = withObjects(q.Sensors)
	if q.Filter.Where != nil || model.renames() {
		q.Sensors = nil // a model makes sensors of other properties
	}
	rows := q.Span.rows()
	rows.After = q.After
	if parts := m.Spans.Within(rows); len(parts) > 0 { // between them the device belonged to others
		rows, rows.To, rows.Before = parts[0], parts[len(parts)-1].To, parts[len(parts)-1].Before
	} else {
		rows.Before = rows.From
	}
	return q.read(f.Tables.Table(m.Readings), tables.Range{Partitions: tables.Is(string(m.Device)), Rows: rows})
}
