package query

import (
	"context"
	"iter"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// bucketRanges yields the ranges of the buckets that the question asks for, in a table
// with keys as in rollups.
func (q Question) bucketRanges(ctx context.Context, t *tables.Table) iter.Seq2[read, error] {
	return func(yield func(read, error) bool) {
		begun, err := q.begun(ctx, t)
		if err != nil {
			yield(read{}, err)
			return
		}
		ranges := q.homeDays(begun)
		if q.Scope.ofTenant() {
			ranges = q.tenantDays(begun)
		}
		for r := range ranges {
			if !yield(q.read(t, r), nil) {
				return
			}
		}
	}
}

// tenantDays yields all days of a tenant as one range without gaps.
func (q Question) tenantDays(begun map[schema.Tenant]schema.Day) iter.Seq[tables.Range] {
	return func(yield func(tables.Range) bool) {
		t, last := q.Scope.tenant, q.lastDay()
		if day, any := begun[t]; any && day <= last {
			p := schema.RollupPartition{Tenant: t, Window: q.Window, Day: day}
			yield(tables.Range{Partitions: p.TenantDays(last)})
		}
	}
}

// homeDays yields, day by day, the rows of the scope's devices in each of their partitions.
func (q Question) homeDays(begun map[schema.Tenant]schema.Day) iter.Seq[tables.Range] {
	return func(yield func(tables.Range) bool) {
		for day := q.firstDay(); day <= q.lastDay(); day++ {
			for _, h := range q.Scope.homes {
				p := schema.RollupPartition{Tenant: h.Tenant, Window: q.Window, Day: day, Month: h.Month}
				if day >= begun[h.Tenant] && !yield(tables.Range{Partitions: tables.Is(p.String()), Rows: q.bucketKeys(h)}) {
					return
				}
			}
		}
	}
}

// bucketKeys returns the rows of the scope's devices. For a single device, time bounds
// them; for several devices, whole days are read.
func (q Question) bucketKeys(h Home) tables.Keys {
	d := q.Scope.device
	if d == nil {
		return h.IDs
	}
	return tables.Keys{
		From:   schema.RollupRow{Device: d.Device, Bucket: q.Window.Start(q.Span.From)}.String(),
		Before: schema.RollupRow{Device: d.Device, Bucket: q.Span.To}.String(),
	}
}

func (q Question) firstDay() schema.Day { return schema.DayOf(q.Window.Start(q.Span.From)) }

// lastDay returns the last day of the span that can have rollups: readings from the future
// are not folded, and the clocks of this machine and of storage are less than a day apart.
func (q Question) lastDay() schema.Day {
	return min(schema.DayOf(q.Span.To-1), schema.DayOf(tables.TicksOf(time.Now()))+1)
}

// begun returns the first day of the span on which each tenant has buckets, so that empty
// years are not read day by day; the day after the span where there are none.
func (q Question) begun(ctx context.Context, table *tables.Table) (map[schema.Tenant]schema.Day, error) {
	begun := map[schema.Tenant]schema.Day{}
	for _, t := range q.Scope.tenants() {
		p := schema.RollupPartition{Tenant: t, Window: q.Window, Day: q.firstDay()}
		begun[t] = p.Day
		if q.lastDay()-p.Day < 2 { // as few requests as to look for the first day
			continue
		}
		e, found, err := first(ctx, table, tables.Range{Partitions: p.TenantDays(q.lastDay())})
		if err != nil {
			return nil, err
		}
		begun[t] = q.lastDay() + 1
		if found {
			if p, err = schema.ParseRollupPartition(e.PartitionKey); err != nil {
				return nil, err
			}
			begun[t] = p.Day
		}
	}
	return begun, nil
}
