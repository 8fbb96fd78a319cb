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
		switch {
		case !q.Scope.ofTenant():
			q.homeDays(t, begun, yield)
		case q.searching() || q.needsMembers():
			if days, any := q.tenantDays(begun); any {
				q.tenantPartitions(ctx, t, []tables.Keys{days}, homeOfRollups)(yield)
			}
		default:
			if days, any := q.tenantDays(begun); any {
				yield(q.output(t, tables.Range{Partitions: days}, schema.LatestPartition{}), nil)
			}
		}
	}
}

// tenantDays returns all days of a tenant as one range without gaps; false where there are none.
func (q Question) tenantDays(begun map[schema.Tenant]schema.Day) (tables.Keys, bool) {
	t, last := q.Scope.tenant, q.lastDay()
	day, any := begun[t]
	p := schema.RollupPartition{Tenant: t, Window: q.Window, Day: day}
	return p.TenantDays(last), any && day <= last
}

// homeOfRollups returns whose rollups a partition has.
func homeOfRollups(pk string) (schema.LatestPartition, error) {
	p, err := schema.ParseRollupPartition(pk)
	return schema.LatestPartition{Tenant: p.Tenant, Month: p.Month}, err
}

// homeDays yields, day by day, the rows of the scope's devices in each of their partitions.
func (q Question) homeDays(t *tables.Table, begun map[schema.Tenant]schema.Day, yield func(read, error) bool) {
	for day := q.firstDay(); day <= q.lastDay(); day++ {
		for _, h := range q.Scope.homes {
			if day < begun[h.Tenant] { // keys of many empty years take seconds to write
				continue
			}
			p := schema.RollupPartition{Tenant: h.Tenant, Window: q.Window, Day: day, Month: h.Month}
			in := tables.Range{Partitions: tables.Is(p.String()), Rows: q.bucketKeys(h)}
			if !yield(q.output(t, in, h.LatestPartition), nil) {
				return
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

// RollupsBegin returns when the first day begins on which a tenant of the scope has buckets of the question's span; the
// end of its last day where there are none. It takes an operation per tenant.
func (f Outputs) RollupsBegin(ctx context.Context, q Question) (tables.Ticks, error) {
	return q.begin(ctx, f.rollups())
}

// RatesBegin is RollupsBegin for rates.
func (f Outputs) RatesBegin(ctx context.Context, q Question) (tables.Ticks, error) {
	return q.begin(ctx, f.rates())
}

func (q Question) begin(ctx context.Context, t *tables.Table) (tables.Ticks, error) {
	begun, err := q.begun(ctx, t)
	first := q.lastDay() + 1
	for _, day := range begun {
		first = min(first, day)
	}
	return max(q.Span.From, first.Start()), err
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
