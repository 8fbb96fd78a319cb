package query

import (
	"context"
	"iter"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// rollupRanges are the ranges that buckets of the question lie in.
func (s Source) rollupRanges(ctx context.Context, q Question) iter.Seq2[read, error] {
	return func(yield func(read, error) bool) {
		begun, err := s.begun(ctx, q)
		if err != nil {
			yield(read{}, err)
			return
		}
		ranges := q.homeDays(begun)
		if q.Scope.homes == nil {
			ranges = q.tenantDays(begun)
		}
		for r := range ranges {
			if !yield(read{s.rollups(), q.query(r)}, nil) {
				return
			}
		}
	}
}

// tenantDays are all days of a tenant: one range, all of which is wanted.
func (q Question) tenantDays(begun map[schema.Tenant]schema.Day) iter.Seq[tables.Range] {
	return func(yield func(tables.Range) bool) {
		t, last := q.Scope.tenant, q.lastDay()
		if day, any := begun[t]; any && day <= last {
			p := schema.RollupPartition{Tenant: t, Window: q.Window, Day: day}
			yield(tables.Range{Partitions: p.TenantDays(last)})
		}
	}
}

// homeDays are, day by day, the rows of the scope's devices in each of the
// partitions that they are in.
func (q Question) homeDays(begun map[schema.Tenant]schema.Day) iter.Seq[tables.Range] {
	return func(yield func(tables.Range) bool) {
		for day := q.firstDay(); day <= q.lastDay(); day++ {
			for _, h := range q.Scope.homes {
				p := schema.RollupPartition{Tenant: h.tenant, Window: q.Window, Day: day, Month: h.month}
				if day >= begun[h.tenant] && !yield(tables.Range{Partitions: tables.Is(p.String()), Rows: q.bucketKeys()}) {
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
		From:   schema.RollupRow{Device: d.Device, Bucket: q.Window.Start(q.Span.From)}.String(),
		Before: schema.RollupRow{Device: d.Device, Bucket: q.Span.To}.String(),
	}
}

func (q Question) firstDay() schema.Day { return schema.DayOf(q.Window.Start(q.Span.From)) }

// lastDay is the last day of the span that can have rollups: nothing is rolled up
// before its time, and the clocks of this machine and of storage are not a day apart.
func (q Question) lastDay() schema.Day {
	return min(schema.DayOf(q.Span.To-1), schema.DayOf(tables.TicksOf(time.Now()))+1)
}

// begun are the days from which on each tenant has rollups in the span, so that
// years of nothing are not asked for day by day; a day after the span is none.
func (s Source) begun(ctx context.Context, q Question) (map[schema.Tenant]schema.Day, error) {
	begun := map[schema.Tenant]schema.Day{}
	if q.firstDay() > q.lastDay() {
		return begun, nil
	}
	for _, t := range q.Scope.tenants() {
		p := schema.RollupPartition{Tenant: t, Window: q.Window, Day: q.firstDay()}
		begun[t] = q.lastDay() + 1
		e, found, err := first(ctx, s.rollups(), tables.Range{Partitions: p.TenantDays(q.lastDay())}, "Timestamp")
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		if p, err = schema.ParseRollupPartition(e.PartitionKey); err != nil {
			return nil, err
		}
		begun[t] = p.Day
	}
	return begun, nil
}
