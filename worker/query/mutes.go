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
func (f Fleet) Mutes(ctx context.Context, t schema.Tenant) iter.Seq2[schema.Mute, error] {
	return func(yield func(schema.Mute, error) bool) {
		of := []schema.Tenant{"", t}
		if t == "" {
			for t, err := range f.Tenants(ctx) {
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
			for m, err := range decoded(f.incidents(), f.incidents().Entities(ctx, q), whole(schema.MuteOf)) {
				if absent(err) {
					return // no pipeline has had rules yet
				}
				if !yield(m, err) {
					return
				}
			}
		}
	}
}

// AddMute writes a mute.
func (f Fleet) AddMute(ctx context.Context, m schema.Mute) error {
	e, err := m.Entity()
	if err != nil {
		return err
	}
	_, err = f.incidents().Do(ctx, tables.InsertOrReplace(e))
	return err
}

// RemoveMute removes a mute by its ID.
func (f Fleet) RemoveMute(ctx context.Context, id string) (schema.Mute, error) {
	for m, err := range f.Mutes(ctx, "") {
		if err != nil {
			return m, err
		}
		if m.ID != id {
			continue
		}
		_, err := f.incidents().Do(ctx, tables.Delete(schema.Mutes(m.Tenant), id, tables.AnyETag))
		return m, err
	}
	return schema.Mute{}, fmt.Errorf("there is no mute %s; 'furrow mute list' shows them", tables.Quote(id))
}

// mutes caches the mutes of each tenant while incidents are read.
type mutes struct {
	fleet Fleet
	of    map[schema.Tenant][]schema.Mute
	now   tables.Ticks
}

func (m *mutes) read(ctx context.Context, t schema.Tenant) error {
	for one, err := range m.fleet.Mutes(ctx, t) {
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
