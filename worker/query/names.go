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

// IDs returns the IDs of devices that begin with prefix. If there are more than most, it returns their beginnings up to
// where they first differ.
func (f Devices) IDs(ctx context.Context, prefix string, most int) (ids []string, err error) {
	keys, err := DeviceSelector{Prefix: prefix}.ids()
	if err != nil {
		return nil, err
	}
	q := tables.Query{Range: tables.Range{Partitions: keys}, Size: most + 1, Select: []string{"Timestamp"}}
	for e, err := range f.devices().Entities(ctx, q) {
		if err != nil {
			return ids, err
		}
		if ids = append(ids, e.PartitionKey); len(ids) > most {
			return f.beginnings(ctx, prefix, keys)
		}
	}
	return ids, nil
}

// beginnings takes a request for each of them.
func (f Devices) beginnings(ctx context.Context, prefix string, keys tables.Keys) (all []string, err error) {
	next := func(id string) tables.Keys {
		if id == prefix {
			return tables.Keys{After: id, Before: keys.Before}
		}
		return tables.Keys{From: tables.KeysWithPrefix(id[:len(prefix)+1]).Before, Before: keys.Before}
	}
	for id, err := range leaping(ctx, f.devices(), keys, next) {
		if err != nil {
			return nil, err
		}
		all = append(all, id[:min(len(prefix)+1, len(id))])
	}
	if len(all) == 1 {
		return f.beginnings(ctx, all[0], tables.KeysWithPrefix(all[0]))
	}
	return all, nil
}

// months yields the months of deployment of devices.
func (f Devices) months(ctx context.Context) iter.Seq2[string, error] {
	return partitions(ctx, f.fleet(), schema.Memberships("").Partitions)
}
