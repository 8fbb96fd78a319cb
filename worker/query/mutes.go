package query

import (
	"context"
	"fmt"
	"iter"
	"slices"

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
			q := tables.Query{Range: tables.Partition(schema.Mutes(t))}
			if !yieldAll(decoded(f.table(), f.table().Entities(ctx, q), whole(schema.MuteOf)), yield) {
				return
			}
		}
	}
}

// AddMute writes a mute.
func (f Incidents) AddMute(ctx context.Context, m schema.Mute) error {
	e, err := m.Entity()
	if err != nil {
		return err
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

// mutes caches the mutes of each tenant while incidents are read.
type mutes struct {
	incidents Incidents
	of        map[schema.Tenant][]schema.Mute
	now       tables.Ticks
}

func (m *mutes) read(ctx context.Context, t schema.Tenant) error {
	for one, err := range m.incidents.Mutes(ctx, t) {
		if err != nil {
			return err
		}
		m.of[t] = append(m.of[t], one)
	}
	return nil
}

func (m *mutes) mutes(i Incident) bool {
	return slices.ContainsFunc(m.of[i.Home.Tenant], func(one schema.Mute) bool { return one.Mutes(i.Transition, m.now) })
}
