package report

import (
	"context"
	"iter"

	"furrow/tables"
	"furrow/tables/schema"
)

// tenants yields the tenants with devices in a partition of the fleet, from one to the next.
func (r *Reports) tenants(ctx context.Context, month schema.Month) iter.Seq2[schema.Tenant, error] {
	read := func(rowKey string) (t schema.Tenant, same tables.Keys, err error) {
		key, err := schema.ParseMemberKey(rowKey)
		if err != nil { // the month job reports it
			return t, same, err
		}
		return key.Tenant(), schema.MembersOf(key.Tenant()), nil
	}
	return distinct(ctx, r.Client.Table(r.Names.Fleet()), month.String(), read)
}

// distinct yields what the rows of a partition say, going from one that says something else to the next: read returns
// what a row says, and the keys of all rows that say the same.
func distinct[T any](
	ctx context.Context, t *tables.Table, partition string, read func(rowKey string) (T, tables.Keys, error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for in := tables.Partition(partition); ; {
			e, found, err := first(ctx, t, in)
			if err != nil || !found {
				if err != nil {
					yield(*new(T), err)
				}
				return
			}
			v, same, err := read(e.RowKey)
			if err != nil {
				in.Rows = tables.Keys{After: e.RowKey}
				continue
			}
			if !yield(v, nil) {
				return
			}
			in.Rows = tables.Keys{From: same.Before}
		}
	}
}

// bucketsOf yields the starts of the buckets that a tenant has in a partition of the fleet.
func (r *Reports) bucketsOf(
	ctx context.Context, t schema.Tenant, w schema.Window, month schema.Month,
) iter.Seq2[tables.Ticks, error] {
	return func(yield func(tables.Ticks, error) bool) {
		days := schema.RollupPartition{Tenant: t, Window: w}.TenantDays(schema.DayOf(tables.MaxTicks))
		for {
			e, found, err := first(ctx, r.buckets(), tables.Range{Partitions: days})
			if err != nil || !found {
				if err != nil {
					yield(0, err)
				}
				return
			}
			p, err := schema.ParseRollupPartition(e.PartitionKey)
			if err != nil {
				days = tables.Keys{After: e.PartitionKey, Before: days.Before}
				continue
			}
			p.Month = month
			for b, err := range r.bucketsIn(ctx, p.String()) {
				if !yield(b, err) || err != nil {
					return
				}
			}
			days = tables.Keys{From: schema.RollupPartition{Tenant: t, Window: w, Day: p.Day + 1}.TenantDays(p.Day + 1).From,
				Before: days.Before}
		}
	}
}

// bucketsIn yields the starts of the buckets of a partition, from one to the next.
func (r *Reports) bucketsIn(ctx context.Context, partition string) iter.Seq2[tables.Ticks, error] {
	return distinct(ctx, r.buckets(), partition, func(rowKey string) (tables.Ticks, tables.Keys, error) {
		row, err := schema.ParseBucketRow(rowKey)
		return row.Bucket, schema.DevicesOfBucket(row.Bucket), err
	})
}

// first returns the keys of the first row of a range.
func first(ctx context.Context, t *tables.Table, in tables.Range) (e tables.Entity, found bool, err error) {
	q := tables.Query{Range: in, Select: []string{"PartitionKey", "RowKey"}}
	return t.First(ctx, q)
}
