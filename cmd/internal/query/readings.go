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

// ErrTenantReadings says that readings are kept by device, so that those of a
// tenant are no range of keys.
var ErrTenantReadings = errors.New("readings are kept by device, not by tenant: name a device or a prefix of ids")

// Readings are those of the span: device after device, each in row order.
func (s Source) Readings(ctx context.Context, q Question) iter.Seq2[Record, error] {
	return limited(func(yield func(Record, error) bool) {
		for e, err := range ahead(ctx, s.readingRanges(ctx, q)) {
			if err != nil {
				yield(nil, err)
				return
			}
			values := q.sensors(e)
			if len(values) == 0 && len(q.Sensors) > 0 {
				continue
			}
			if !yield(Reading{Device: schema.DeviceID(e.PartitionKey), Row: e.RowKey, Time: timeOf(e.RowKey), Values: values}, nil) {
				return
			}
		}
	}, q.Limit)
}

// timeOf is the time that a row key names, as far as it is that of a reading.
func timeOf(row string) tables.Ticks {
	key, err := schema.ParseRowKey(row)
	if err != nil {
		return 0
	}
	return key.Ticks
}

func (s Source) readingRanges(ctx context.Context, q Question) iter.Seq2[read, error] {
	return func(yield func(read, error) bool) {
		for m, err := range s.membersOf(ctx, q.Scope) {
			part := tables.Range{Partitions: tables.Is(string(m.Device)), Rows: tables.Keys{From: q.Span.From.String(), Before: q.Span.To.String()}}
			if !yield(read{s.Tables.Table(m.Readings), q.query(part)}, err) || err != nil {
				return
			}
		}
	}
}

func (s Source) membersOf(ctx context.Context, scope Scope) iter.Seq2[schema.Member, error] {
	switch {
	case scope.device != nil:
		return func(yield func(schema.Member, error) bool) { yield(*scope.device, nil) }
	case scope.homes == nil:
		return func(yield func(schema.Member, error) bool) { yield(schema.Member{}, ErrTenantReadings) }
	}
	return s.members(ctx, scope.ids, 0)
}
