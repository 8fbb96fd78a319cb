package query

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"furrow/jobs"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Bucket is a rollup of one device and window of time.
type Bucket struct {
	Tenant  schema.Tenant // of the device then; empty where one range of rows has several tenants
	Device  schema.DeviceID
	Window  schema.Window
	Start   tables.Ticks
	Sensors []Aggregate // in the order of their names
	Model   *Model      // of the device; nil: unknown

	// Readings is the number of readings with a number. It is only known where the question names no sensors.
	Readings int64
}

// An Aggregate is the aggregate of one sensor.
type Aggregate struct {
	Sensor string
	rollup.Aggregate
}

func (a Aggregate) Mean() float64 { return a.Sum / float64(a.Count) }

// Rollups yields the buckets that overlap the span: day after day, within a day by tenant,
// month and device, and for each device by time.
func (f Fleet) Rollups(ctx context.Context, q Question) iter.Seq2[Bucket, error] {
	buckets := func(ctx context.Context, r read, rows iter.Seq2[tables.Entity, error]) iter.Seq2[Bucket, error] {
		s := f.selection(q, r.home)
		all := decoded(r.table, schema.Joined(rows, schema.RollupOutput), outputs(q.decoding().bucket))
		return selected(all, func(b *Bucket) (keep bool, err error) {
			b.Tenant = r.home.Tenant
			b.Model, keep, err = s.selects(ctx, b.Device, b.Row)
			b.Sensors = slices.DeleteFunc(b.Sensors, func(a Aggregate) bool { return !q.wants(a.Sensor) })
			return keep && len(b.Sensors) > 0, err
		})
	}
	found := inOrder(ctx, sources(q.bucketRanges(ctx, f.rollups()), buckets), q.searching())
	return Limited(afterSkipped(q.Scope, found), q.Limit)
}

// bucket decodes an output of rollups. It is not wanted outside of the span, or without
// the requested sensors.
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
		b.Readings = max(b.Readings, a.Count)
	}
	b.Readings = max(b.Readings, e.Get(jobs.ReadingsProperty).Int())
	return b, len(b.Sensors) > 0
}
