package archive

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/retain"
	"furrow/tables/schema"
)

// Forget removes the days before one from a tenant's tables, as retention does. Their blobs are deleted a day after
// the log says so. It returns how many rows that were. ErrForeign comes once all tables have forgotten.
func (m *Tables) Forget(ctx context.Context, tenant schema.Tenant, before schema.Day) (rows int64, err error) {
	all, err := m.Catalog.Tables(ctx, tenant)
	for _, t := range all {
		gone, errForget := m.forget(ctx, t, before)
		if rows += gone; errForget != nil && !errors.Is(errForget, catalog.ErrForeign) {
			return rows, errForget
		}
		err = cmp.Or(err, errForget)
	}
	return rows, err
}

func (m *Tables) forget(ctx context.Context, t *catalog.Table, before schema.Day) (rows int64, err error) {
	for {
		first, found := catalog.File{}, false
		for f, err := range t.Files(ctx, 0, before-1) {
			if err != nil {
				return rows, err
			}
			first, found = f, true
			break
		}
		if !found {
			break
		}
		if m.Source != nil { // before anything leaves: who is killed after that finds nothing to forget
			if err := m.markClean(ctx, TableDay{Tenant: t.Tenant, Month: first.Months[0]}); err != nil {
				return rows, err
			}
		}
		gone, err := forgetDay(ctx, t, first.Date)
		if rows += gone; err != nil {
			return rows, err
		}
	}
	if _, err = t.Log(m.Store).Publish(ctx); errors.Is(err, catalog.ErrAbsent) {
		err = nil // it was listed, and never made
	}
	return rows, err
}

// forgetDay removes as many files of a day as one version has room for.
func forgetDay(ctx context.Context, t *catalog.Table, day schema.Day) (rows int64, err error) {
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
		left := int64(0)
		for _, d := range c.Days {
			left += d.Rows
		}
		for i := range c.Days { // a file counts in the first of its partitions
			if left == 0 {
				c.Days[i].Rows = 0
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

// OldDays yields what tables have of days before the one of a tenant, which Delete removes.
func (m *Tables) OldDays(ctx context.Context, before func(schema.Tenant) schema.Day) iter.Seq2[retain.Outdated, error] {
	return func(yield func(retain.Outdated, error) bool) {
		for t, err := range m.Catalog.All(ctx) {
			old := retain.Outdated{Table: "archive"}
			if err == nil {
				old.Tenant = t.Tenant
				old.Rows, err = filesBefore(ctx, t, before(t.Tenant))
				old.Delete = func(ctx context.Context) error {
					_, err := m.forget(ctx, t, before(t.Tenant))
					return made(err)
				}
			}
			if (err != nil || old.Rows > 0) && !yield(old, err) || err != nil {
				return
			}
		}
	}
}

// filesBefore returns how many files a table has of days before one.
func filesBefore(ctx context.Context, t *catalog.Table, before schema.Day) (n int, err error) {
	if before <= 0 {
		return 0, nil
	}
	for _, err := range t.Files(ctx, 0, before-1) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
