package query

import (
	"context"
	"errors"
	"iter"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Reading is a row as its device wrote it, with the requested sensors.
type Reading struct {
	Device schema.DeviceID
	Row    string       // its RowKey
	Time   tables.Ticks // of the RowKey; zero where it has none
	Values []tables.Property
}

// Read checks the reading as a job does.
func (r Reading) Read() (schema.Reading, error) {
	return schema.ReadingOf(tables.Entity{PartitionKey: string(r.Device), RowKey: r.Row, Properties: r.Values})
}

// Sample interprets the reading as a pipeline with these settings of sensors does.
func (r Reading) Sample(sensors *jobs.Sensors) (jobs.Sample, error) {
	reading, err := r.Read()
	if err != nil {
		return jobs.Sample{}, err
	}
	sample, _ := sensors.Sample(reading)
	return sample, nil
}

// ErrTenantReadings means that the readings of a whole tenant were requested. They have
// no common range of keys.
var ErrTenantReadings = errors.New("readings are kept by device, not by tenant: name a device or a prefix of IDs")

// Readings yields the readings of the span: device after device, each in row order.
func (f Fleet) Readings(ctx context.Context, q Question) iter.Seq2[Reading, error] {
	readings := decoded(nil, inOrder(ctx, f.readingRanges(ctx, q)), func(e tables.Entity, _ report) (Reading, bool) {
		values := q.sensorsOfReading(e)
		r := Reading{Device: schema.DeviceID(e.PartitionKey), Row: e.RowKey, Time: TimeOf(e.RowKey), Values: values}
		return r, len(values) > 0 || len(q.Sensors) == 0
	})
	return limited(readings, q.Limit)
}

// TimeOf returns the time in the row key of a reading; zero where it is not such a key.
func TimeOf(row string) tables.Ticks {
	key, err := schema.ParseRowKey(row)
	if err != nil {
		return 0
	}
	return key.Ticks
}

func (f Fleet) readingRanges(ctx context.Context, q Question) iter.Seq2[read, error] {
	return func(yield func(read, error) bool) {
		switch s := q.Scope; {
		case s.ofTenant():
			yield(read{}, ErrTenantReadings)
		case s.device != nil:
			yield(q.readings(f, *s.device), nil)
		default:
			for d, err := range f.Records(ctx, s.ids, 0) {
				if !yield(q.readings(f, d.Member()), err) {
					return
				}
			}
		}
	}
}

func (q Question) readings(f Fleet, m schema.Member) read {
	q.Sensors = withObjects(q.Sensors)
	rows := q.Span.rows()
	rows.After = q.After
	return q.read(f.Tables.Table(m.Readings), tables.Range{Partitions: tables.Is(string(m.Device)), Rows: rows})
}
