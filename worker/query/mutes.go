package query

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// Mutes yields the mutes of a tenant, and those for all tenants. For the empty tenant, it yields those of every tenant.
func (f Incidents) Mutes(ctx context.Context, t schema.Tenant) iter.Seq2[schema.Mute, error] {
	return func(yield func(schema.Mute, error) bool) {
		of := []schema.Tenant{"", t}
		if t == "" {
			for t, err := range Devices(f).Tenants(ctx) {
				if err != nil {
					yield(schema.Mute{}, err)
					return
				}
				of = append(of, t)
			}
		}
		slices.Sort(of)
		for _, t := range slices.Compact(of) {
			if !yieldAll(f.mutesOf(ctx, t), yield) {
				return
			}
		}
	}
}

// mutesOf yields the mutes of a tenant alone; those for all tenants for the empty one.
func (f Incidents) mutesOf(ctx context.Context, t schema.Tenant) iter.Seq2[schema.Mute, error] {
	return decoded(f.table(), f.rows(ctx, schema.Mutes(t), tables.Keys{}, ""), whole(schema.MuteOf))
}

// muteKept is how long a mute is kept after its end: notifications of what was found while it held may be late.
const muteKept = 90 * 24 * time.Hour

// AddMute writes a mute. Before, it deletes a hundred at most of the same tenant that nothing needs any more, as each
// job of notifications reads them all.
func (f Incidents) AddMute(ctx context.Context, m schema.Mute) error {
	e, err := m.Entity()
	if err != nil {
		return err
	}
	deleted := 0
	for old, err := range Readable(f.mutesOf(ctx, m.Tenant), new(Skipped)) {
		if err == nil && old.Until < m.From.Add(-muteKept) {
			deleted++
			err = f.doUnlessAbsent(ctx, tables.Delete(schema.Mutes(m.Tenant), old.ID, tables.AnyETag))
		}
		if err != nil {
			return err
		}
		if deleted == 100 {
			break
		}
	}
	_, err = f.table().Do(ctx, tables.InsertOrReplace(e))
	return err
}

// RemoveMute removes a mute by its ID.
func (f Incidents) RemoveMute(ctx context.Context, id string) (schema.Mute, error) {
	for m, err := range f.Mutes(ctx, "") {
		if err != nil {
			return m, err
		}
		if m.ID != id {
			continue
		}
		_, err := f.table().Do(ctx, tables.Delete(schema.Mutes(m.Tenant), id, tables.AnyETag))
		return m, err
	}
	return schema.Mute{}, fmt.Errorf("there is no mute %s; 'furrow mute list' shows them", tables.Quote(id))
}

// muted reads the mutes of a tenant, and returns what tells whether one of its incidents is muted now.
func (f Incidents) muted(ctx context.Context, t schema.Tenant) (func(Incident) bool, error) {
	all, err := Collect(f.Mutes(ctx, t), nil)
	now := tables.TicksOf(time.Now())
	return func(i Incident) bool {
		return slices.ContainsFunc(all, func(m schema.Mute) bool { return m.Mutes(i.Transition, now) })
	}, err
}
