package query

import (
	"context"
	"iter"

	"furrow/tables"
	"furrow/tables/schema"
)

// Tenants yields each tenant that has a device once. It takes a request for each month, and one for each tenant of a
// month, however many devices they have.
func (f Devices) Tenants(ctx context.Context) iter.Seq2[schema.Tenant, error] {
	return func(yield func(schema.Tenant, error) bool) {
		seen := map[schema.Tenant]bool{}
		for month, err := range f.months(ctx) {
			for rows := (tables.Keys{}); err == nil; {
				var e tables.Entity
				var found bool
				e, found, err = first(ctx, f.fleet(), tables.Range{Partitions: tables.Is(month), Rows: rows})
				if !found {
					break
				}
				key, bad := schema.ParseMemberKey(e.RowKey)
				if bad != nil {
					rows = tables.Keys{After: e.RowKey}
					continue
				}
				tenant := key.Tenant()
				if rows.From = schema.MembersOf(tenant).Before; seen[tenant] {
					continue
				}
				if seen[tenant] = true; !yield(tenant, nil) {
					return
				}
			}
			if err != nil {
				yield("", err)
				return
			}
		}
	}
}

// months yields the months of deployment of devices.
func (f Devices) months(ctx context.Context) iter.Seq2[string, error] {
	return partitions(ctx, f.fleet(), schema.Memberships("").Partitions)
}
