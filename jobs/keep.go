package jobs

import (
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// KeepOfTenant returns what is kept of what belongs to a tenant as a whole, such as reports, or nil: everything. It is
// the first entry that names nothing but tenants, or nothing at all. The empty tenant is the fleet.
func KeepOfTenant(all []Keep, t schema.Tenant) *Keep {
	for i := range all {
		k := &all[i]
		if k.ByTenant() && (len(k.Match.Tenant) == 0 || slices.Contains(k.Match.Tenant, string(t))) {
			return k
		}
	}
	return nil
}

// ByTenant reports whether the entry holds for tenants as a whole.
func (k *Keep) ByTenant() bool {
	m := k.Match
	m.Tenant = nil
	return !m.Some() && len(k.Models) == 0
}

// before returns the time below which something is no longer kept: the start of a day, or 0.
func before(kept time.Duration, now tables.Ticks) tables.Ticks {
	if kept == 0 {
		return 0
	}
	return max(0, now.Add(-kept).Floor(tables.Day))
}

// KeepsReport reports whether the report of a bucket is kept, and the devices' buckets that it is made of. Nobody makes
// a report without all of them.
func (k *Keep) KeepsReport(w schema.Window, bucket, now tables.Ticks) bool {
	return k == nil || bucket >= max(before(k.Reports[w], now), before(k.Buckets[w], now))
}

// KeepsDay reports whether the archive of a day is kept.
func (k *Keep) KeepsDay(d schema.Day, now tables.Ticks) bool {
	return k == nil || d.Start() >= before(k.Archive, now)
}
