package query

import (
	"context"
	"errors"
	"iter"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Reading is a row as its device wrote it, with the sensors asked for.
type Reading struct {
	Device schema.DeviceID
	Row    string       // its RowKey
	Time   tables.Ticks // of the RowKey; zero where it has none
	Values []tables.Property
}

// ErrTenantReadings says that readings are kept by device, so that those of a tenant
// are no range of keys.
var ErrTenantReadings = errors.New("readings are kept by device, not by tenant: name a device or a prefix of IDs")

// Readings are those of the span: device after device, each in row order.
func (f Fleet) Readings(ctx context.Context, q Question) iter.Seq2[Reading, error] {
	readings := decoded(nil, inOrder(ctx, f.readingRanges(ctx, q)), func(e tables.Entity, _ report) (Reading, bool) {
		values := q.sensors(e)
		r := Reading{Device: schema.DeviceID(e.PartitionKey), Row: e.RowKey, Time: TimeOf(e.RowKey), Values: values}
		return r, len(values) > 0 || len(q.Sensors) == 0
	})
	return limited(readings, q.Limit)
}

// TimeOf is the time of a reading with this row key; zero where the key is not one of a reading.
func TimeOf(row string) tables.Ticks {
	key, err := schema.ParseRowKey(row)
	if err != nil {
		return 0
	}
	return key.Ticks
}

func (f Fleet) readingRanges(ctx context.Context, q Question) iter.Seq2[read, error] {
	return func(yield func(read, error) bool) {
		for m, err := range f.membersOf(ctx, q.Scope) {
			part := tables.Range{Partitions: tables.Is(string(m.Device)), Rows: q.Span.rows()}
			if !yield(read{f.Tables.Table(m.Readings), q.query(part)}, err) {
				return
			}
		}
	}
}

func (f Fleet) membersOf(ctx context.Context, s Scope) iter.Seq2[schema.Member, error] {
	if s.device == nil && !s.ofTenant() {
		return f.members(ctx, s.ids, 0)
	}
	return func(yield func(schema.Member, error) bool) {
		if s.ofTenant() {
			yield(schema.Member{}, ErrTenantReadings)
		} else {
			yield(*s.device, nil)
		}
	}
}
