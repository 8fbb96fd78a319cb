package archive

import (
	"context"
	"errors"

	"furrow/jobs/archive/catalog"
	"furrow/tables/schema"
)

// Forget removes the days before one from a tenant's tables, as retention does. Their blobs are deleted a day after
// the log says so. It returns how many rows that were.
func (m *Tables) Forget(ctx context.Context, tenant schema.Tenant, before schema.Day) (rows int64, err error) {
	all, err := m.Catalog.Tables(ctx, tenant)
	for _, t := range all {
		gone, err := m.forget(ctx, t, before)
		if rows += gone; err != nil {
			return rows, err
		}
	}
	return rows, err
}

func (m *Tables) forget(ctx context.Context, t *catalog.Table, before schema.Day) (rows int64, err error) {
	for {
		day, found := schema.Day(0), false
		for f, err := range t.Files(ctx, 0, before-1) {
			if err != nil {
				return rows, err
			}
			day, found = f.Date, true
			break
		}
		if !found {
			break
		}
		gone, err := m.forgetDay(ctx, t, day)
		if rows += gone; err != nil {
			return rows, err
		}
	}
	if _, err = t.Publish(ctx, m.Store); errors.Is(err, catalog.ErrAbsent) {
		err = nil // it was listed, and never made
	}
	return rows, err
}

// forgetDay removes as many files of a day as one version has room for.
func (m *Tables) forgetDay(ctx context.Context, t *catalog.Table, day schema.Day) (rows int64, err error) {
	err = again(ctx, func() error {
		rows = 0
		s, err := t.Begin(ctx, day)
		if err != nil || len(s.Files) == 0 {
			return err
		}
		c := &catalog.Change{Why: "no longer kept"}
		for _, f := range s.Files {
			if !c.Remove(s, f) {
				break
			}
		}
		_, err = t.Commit(ctx, s, c)
		for _, f := range c.Gone {
			rows += f.Stats.Rows
		}
		return err
	})
	return rows, err
}
