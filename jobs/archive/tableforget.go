package archive

import (
	"context"
	"errors"
	"slices"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/commit"
	"furrow/tables/schema"
)

// mostGone is how many files leave with one version: a transaction has room for so many.
const mostGone = 40

// Forget removes the days before one from a tenant's tables, as retention does. Their blobs are deleted a day after the
// log says so. It returns how many rows that were.
func (m *Tables) Forget(ctx context.Context, tenant schema.Tenant, before schema.Day) (rows int64, err error) {
	for _, t := range m.all(tenant) {
		gone, err := m.forget(ctx, t, before)
		if rows += gone; err != nil {
			return rows, err
		}
	}
	return rows, nil
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
	if rows > 0 {
		_, err = t.Publish(ctx, m.Store)
	}
	return rows, err
}

// forgetDay removes files of a day.
func (m *Tables) forgetDay(ctx context.Context, t *catalog.Table, day schema.Day) (rows int64, err error) {
	for try := range commit.Tries {
		if rows, err = m.tryForget(ctx, t, day); !errors.Is(err, catalog.ErrStale) {
			break
		}
		if err := commit.Pause(ctx, try); err != nil {
			return 0, err
		}
	}
	return rows, err
}

func (m *Tables) tryForget(ctx context.Context, t *catalog.Table, day schema.Day) (rows int64, err error) {
	s, err := t.Begin(ctx, day)
	if err != nil || len(s.Files) == 0 {
		return 0, err
	}
	c := &catalog.Change{Why: "no longer kept", Gone: s.Files[:min(len(s.Files), mostGone)]}
	var months []schema.Month
	left := map[schema.Month]int64{}
	for i, f := range s.Files {
		if i < len(c.Gone) {
			rows += f.Stats.Rows
			months = append(months, f.Months...)
			continue
		}
		for _, month := range f.Months {
			left[month] += f.Stats.Rows
		}
	}
	slices.SortFunc(months, schema.Month.Compare)
	for _, month := range slices.Compact(months) {
		d := s.Day(month)
		d.Rows = left[month]
		c.Days = append(c.Days, d)
	}
	_, err = t.Commit(ctx, s, c)
	return rows, err
}
