package retain

import (
	"slices"
	"time"

	"furrow/jobs/fold"
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

// KeepsOutput reports whether an output is still kept, so that history which is folded again does not bring it back.
func KeepsOutput(all []Keep, m schema.Member, model func(schema.Member) *fold.Model, e fold.Effect,
	now tables.Ticks) bool {
	if len(all) == 0 || e.To <= e.From {
		return true
	}
	w := schema.Window(time.Duration(e.To-e.From) * 100)
	switch e.Output.Table {
	case "":
		return KeepOfTenant(all, m.Tenant).KeepsDay(schema.DayOf(e.From), now)
	case schema.BucketsTable:
		return KeepOfTenant(all, m.Tenant).KeepsReport(w, e.From, now)
	}
	return e.To > keepOf(all, m, model(m).Name).below(w, now)
}

// below returns the time below which buckets of a window are not kept: the start of a day, or 0.
func (k *Keep) below(w schema.Window, now tables.Ticks) tables.Ticks {
	if k == nil {
		return 0
	}
	return before(k.Rollups[w], now)
}
