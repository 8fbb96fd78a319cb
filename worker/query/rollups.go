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

func (a Aggregate) Mean() float64 { return a.Sum / float64(a.Count) }

// Rollups are the buckets that touch the span: day after day, within a day by tenant,
// month and device, and each device's in the order of time.
func (f Fleet) Rollups(ctx context.Context, q Question) iter.Seq2[Bucket, error] {
	parts := schema.Joined(inOrder(ctx, f.rollupRanges(ctx, q)), schema.RollupOutput)
	return limited(afterSkipped(q.Scope, decoded(f.rollups(), parts, outputs(q.bucket))), q.Limit)
}

// bucket reads an output of rollups. One outside of the span, or without the sensors
// asked for, is not wanted.
func (q Question) bucket(e tables.Entity, report report) (Bucket, bool) {
	row, err := schema.ParseRollupRow(e.RowKey)
	if err != nil {
		report("", err)
		return Bucket{}, false
	}
	b := Bucket{Device: row.Device, Window: q.Window, Start: row.Bucket}
	if b.Start < q.Window.Start(q.Span.From) || b.Start >= q.Span.To {
		return b, false
	}
	for _, p := range q.sensors(e) {
		a, err := rollup.ParseAggregate(p.Value.Text())
		if err == nil && a.Count < 1 {
			err = fmt.Errorf("a count of %d", a.Count)
		}
		if err != nil {
			report(p.Name, err)
			continue
		}
		b.Sensors = append(b.Sensors, Aggregate{p.Name, a})
	}
	return b, len(b.Sensors) > 0
}
