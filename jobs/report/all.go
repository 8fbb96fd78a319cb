package report

import (
	"context"
	"iter"

	"furrow/tables"
	"furrow/tables/schema"
)

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
	return func(yield func(tables.Ticks, error) bool) {
		for in := tables.Partition(partition); ; {
			e, found, err := first(ctx, r.buckets(), in)
			if err != nil || !found {
				if err != nil {
					yield(0, err)
				}
				return
			}
			row, err := schema.ParseBucketRow(e.RowKey)
			if err != nil {
				in.Rows = tables.Keys{After: e.RowKey}
				continue
			}
			if !yield(row.Bucket, nil) {
				return
			}
			in.Rows = tables.Keys{From: schema.DevicesOfBucket(row.Bucket).Before}
		}
	}
}

// first returns the keys of the first row of a range.
func first(ctx context.Context, t *tables.Table, in tables.Range) (e tables.Entity, found bool, err error) {
	q := tables.Query{Range: in, Select: []string{"PartitionKey", "RowKey"}}
	return t.First(ctx, q)
}
