package query

import (
	"context"
	"fmt"
	"iter"

	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Bucket is a rollup of one device and window of time.
type Bucket struct {
	Device  schema.DeviceID
	Window  schema.Window
	Start   tables.Ticks
	Sensors []Aggregate
}

// An Aggregate is that of one sensor.
type Aggregate struct {
	Sensor string
	rollup.Aggregate
}

// Mean is their sum divided by their number.
func (a Aggregate) Mean() float64 { return a.Sum / float64(a.Count) }

// Rollups are the buckets that touch the span: day after day, of each day by
// tenant, month and device, each device's in the order of time.
func (s Source) Rollups(ctx context.Context, q Question) iter.Seq2[Record, error] {
	from := q.Window.Start(q.Span.From)
	return limited(func(yield func(Record, error) bool) {
		for e, err := range schema.Joined(ahead(ctx, s.rollupRanges(ctx, q)), schema.RollupOutput) {
			var b Bucket
			if err == nil {
				b, err = q.bucket(e)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if len(b.Sensors) == 0 || b.Start < from || b.Start >= q.Span.To {
				continue
			}
			if !yield(b, nil) {
				return
			}
		}
	}, q.Limit)
}

func (q Question) bucket(e tables.Entity) (Bucket, error) {
	row, err := schema.ParseRollupRow(e.RowKey)
	if err != nil {
		return Bucket{}, err
	}
	b := Bucket{Device: row.Device, Window: q.Window, Start: row.Bucket}
	for _, p := range q.sensors(e) {
		a, err := rollup.ParseAggregate(p.Value.Text())
		if err != nil {
			return b, fmt.Errorf("%s of %s at %s: %w", p.Name, row.Device, row.Bucket, err)
		}
		b.Sensors = append(b.Sensors, Aggregate{p.Name, a})
	}
	return b, nil
}
