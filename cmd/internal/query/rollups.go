package query

import (
	"context"
	"fmt"
	"iter"
	"time"

	"furrow/jobs/rollup"
	"furrow/tables"
)

// A Bucket is a rollup of one device and window of time.
type Bucket struct {
	Device  tables.DeviceID
	Window  tables.Window
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
		for e, err := range ahead(ctx, s.rollupRanges(ctx, q)) {
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
	row, err := tables.ParseRollupRow(e.RowKey)
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

// rollupRanges are the ranges that buckets of the question lie in. A tenant's
// days are one range. Of devices, a day is a range of each of their partitions.
func (s Source) rollupRanges(ctx context.Context, q Question) iter.Seq2[read, error] {
	return func(yield func(read, error) bool) {
		first, last := tables.DayOf(q.Window.Start(q.Span.From)), lastDay(q.Span)
		begun := map[tables.Tenant]tables.Day{}
		for _, t := range q.Scope.tenants() {
			day, err := s.firstDay(ctx, tables.RollupPartition{Tenant: t, Window: q.Window, Day: first}, last)
			if err != nil {
				yield(read{}, err)
				return
			}
			begun[t] = day
		}
		if q.Scope.homes == nil {
			if day := begun[q.Scope.tenant]; day <= last {
				p := tables.RollupPartition{Tenant: q.Scope.tenant, Window: q.Window, Day: day}
				yield(read{s.rollups(), q.query(tables.Range{Partitions: p.TenantDays(last)})}, nil)
			}
			return
		}
		for day := first; day <= last; day++ {
			for _, h := range q.Scope.homes {
				if day < begun[h.tenant] {
					continue
				}
				p := tables.RollupPartition{Tenant: h.tenant, Window: q.Window, Day: day, Month: h.month}
				part := tables.Range{Partitions: tables.Is(p.String()), Rows: q.bucketKeys()}
				if !yield(read{s.rollups(), q.query(part)}, nil) {
					return
				}
			}
		}
	}
}

// bucketKeys are the rows of the scope's devices. Those of one device are bounded
// by time; of several, their days are read whole.
func (q Question) bucketKeys() tables.Keys {
	d := q.Scope.device
	if d == nil {
		return q.Scope.ids
	}
	return tables.Keys{
		From:   tables.RollupRow{Device: d.Device, Bucket: q.Window.Start(q.Span.From)}.String(),
		Before: tables.RollupRow{Device: d.Device, Bucket: q.Span.To}.String(),
	}
}

// lastDay is the last day of a span. Nothing is rolled up before its time, and
// the clocks of this machine and of storage are not a day apart.
func lastDay(s Span) tables.Day {
	return min(tables.DayOf(s.To-1), tables.DayOf(tables.TicksOf(time.Now()))+1)
}

// firstDay is the first day, from p's on, of which p's tenant has rollups of p's
// window; a day after last where there are none.
func (s Source) firstDay(ctx context.Context, p tables.RollupPartition, last tables.Day) (tables.Day, error) {
	if p.Day > last {
		return last + 1, nil
	}
	e, found, err := first(ctx, s.rollups(), tables.Range{Partitions: p.TenantDays(last)}, "Timestamp")
	if err != nil || !found {
		return last + 1, err
	}
	at, err := tables.ParseRollupPartition(e.PartitionKey)
	return at.Day, err
}
