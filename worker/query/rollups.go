package query

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"furrow/jobs/fold"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Bucket is a rollup of one device and window of time.
type Bucket struct {
	Tenant  schema.Tenant // of the device then
	Month   schema.Month  // of the device then; zero where all of a tenant was asked for
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
func (f Outputs) Rollups(ctx context.Context, q Question) iter.Seq2[Bucket, error] {
	buckets := func(ctx context.Context, r read, rows iter.Seq2[tables.Entity, error]) iter.Seq2[Bucket, error] {
		s := Devices(f).selection(q, r.home)
		all := decoded(r.table, schema.Joined(rows, schema.RollupOutput), outputs(schema.ParseRollupRow, q.decoding().bucket))
		return selected(all, func(b *Bucket) (keep bool, err error) {
			b.Tenant, b.Month = cmp.Or(r.home.Tenant, q.Scope.tenant), r.home.Month
			b.Model, keep, err = s.selects(ctx, b.Device, b.Row)
			b.Sensors = slices.DeleteFunc(b.Sensors, func(a Aggregate) bool { return !q.wants(a.Sensor) })
			return keep && len(b.Sensors) > 0, err
		})
	}
	found := inOrder(ctx, sources(q.bucketRanges(ctx, f.rollups()), buckets), q.searching())
	if q.Scope.device != nil && len(q.Scope.homes) > 1 {
		found = byTime(found)
	}
	return Limited(afterSkipped(q.Scope, found), q.Limit)
}

// byTime yields the buckets of a device, which come day after day and each day tenant after tenant, by their time.
func byTime(all iter.Seq2[Bucket, error]) iter.Seq2[Bucket, error] {
	return func(yield func(Bucket, error) bool) {
		var day []Bucket
		end := func() bool {
			slices.SortStableFunc(day, func(a, b Bucket) int { return cmp.Compare(a.Start, b.Start) })
			more := yieldAll(Records(day, nil), yield)
			day = day[:0]
			return more
		}
		if each(all, yield, func(b Bucket) bool {
			if len(day) > 0 && schema.DayOf(day[0].Start) != schema.DayOf(b.Start) && !end() {
				return false
			}
			day = append(day, b)
			return true
		}) {
			end()
		}
	}
}

// bucket decodes an output of rollups. It is not wanted outside of the span, or without
// the requested sensors.
func (q Question) bucket(row schema.RollupRow, e tables.Entity, report report) (Bucket, bool) {
	b := Bucket{Device: row.Device, Window: q.Window, Start: row.Bucket}
	if b.Start < q.Window.Start(q.Span.From) || b.Start >= q.Span.To {
		return b, false
	}
	b.Readings = e.Get(fold.ReadingsProperty).Int()
	b.Sensors = parsedSensors(q, e, report, func(sensor, text string) (Aggregate, error) {
		a, err := rollup.ParseAggregate(text)
		if err == nil && a.Count < 1 {
			err = fmt.Errorf("a count of %d", a.Count)
		}
		if err == nil {
			b.Readings = max(b.Readings, a.Count)
		}
		return Aggregate{sensor, a}, err
	})
	return b, len(b.Sensors) > 0
}
