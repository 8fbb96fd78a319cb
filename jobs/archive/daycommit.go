package archive

import (
	"context"
	"errors"
	"slices"

	"furrow/jobs/archive/catalog"
	"furrow/tables/schema"
)

// begin reads what the tables have of a day.
func (m *Tables) begin(ctx context.Context, of TableDay) (g *readingsMaking, err error) {
	g = &readingsMaking{Tables: m, table: m.Readings(of.Tenant), of: of, months: []schema.Month{of.Month}}
	if g.sums, err = m.beginSums(ctx, of); err != nil {
		return nil, err
	}
	g.snapshot, err = g.table.Begin(ctx, of.Day)
	return g, err
}

// replaceAll has all files go that have rows of the day's partition of the fleet. What they have of other partitions is
// taken over. Rollups and reports are made of all readings of a partition: where there are some, the files go as well
// that have more of those.
func (g *readingsMaking) replaceAll() {
	for _, f := range g.snapshot.Files {
		if g.of.has(&f) {
			g.replace(f)
		}
	}
	if len(g.sums.all) > 0 {
		g.replaceShared()
	}
	g.shared = g.months
}

// replaceShared has all files go that share a partition of the fleet with those that do.
func (g *readingsMaking) replaceShared() {
	for n := 0; n != len(g.months); {
		n = len(g.months)
		for _, f := range g.dayFiles(g.snapshot.Files) {
			if shares(&f, g.months) {
				g.addMonths(f.Months)
			}
		}
	}
	g.shared, g.gone = g.months, sharing(g.snapshot.Files, g.months)
	for _, a := range g.sums.all {
		a.gone = sharing(a.snapshot.Files, g.months)
	}
}

// replace has a file go.
func (g *readingsMaking) replace(f catalog.File) {
	g.gone = append(g.gone, f)
	g.addMonths(f.Months)
}

// addMonths notes partitions that files have rows of.
func (g *readingsMaking) addMonths(months []schema.Month) {
	for _, m := range months {
		if !slices.Contains(g.months, m) {
			g.months = append(g.months, m)
		}
	}
}

// dayFiles returns what all tables have of the day, given the files of readings.
func (g *readingsMaking) dayFiles(readings []catalog.File) []catalog.File {
	all := slices.Clone(readings)
	for _, a := range g.sums.all {
		all = append(all, a.snapshot.Files...)
	}
	return all
}

// sharing returns the files that have rows of partitions.
func sharing(files []catalog.File, months []schema.Month) (some []catalog.File) {
	for _, f := range files {
		if shares(&f, months) {
			some = append(some, f)
		}
	}
	return some
}

func shares(f *catalog.File, months []schema.Month) bool {
	return slices.ContainsFunc(f.Months, func(m schema.Month) bool { return slices.Contains(months, m) })
}

// make writes what is to be made and commits it. It reports whether the tables have changed, or may have.
func (g *readingsMaking) make(ctx context.Context) (changed bool, err error) {
	defer g.close()
	if err = g.write(ctx); err != nil {
		return false, errors.Join(err, g.abandon(ctx))
	}
	if len(g.gone)+len(g.made) > 0 {
		changed = true
		if err = g.sums.commit(ctx, g); err == nil {
			_, err = g.table.Commit(ctx, g.snapshot, &catalog.Change{Why: g.why(), Days: g.days(), Takes: !g.merges,
				Gone: g.gone, New: g.made, Same: g.merges && g.grown() == 0 && !g.relabels})
		}
	}
	if !changed {
		return false, errors.Join(g.sums.abandon(ctx), g.older.delete(ctx)) // of the readings that there are
	}
	if err == nil {
		return changed, errors.Join(g.markMerge(ctx), g.older.delete(ctx))
	}
	// After any other error it may have been committed: cleaning finds out.
	if errors.Is(err, catalog.ErrStale) || errors.Is(err, catalog.ErrAbsent) {
		err = errors.Join(err, g.abandon(ctx))
	}
	return changed, err
}

// days returns what the table of readings has of the day afterwards. Where no file of a partition stays, it has the
// rows that were written. Of the others, the first one is taken to have what is left: rows that came late, or whose
// devices have gone meanwhile.
func (g *readingsMaking) days() (all []catalog.Day) {
	left, to := g.grown(), -1
	for i, month := range slices.Backward(g.months) {
		d := g.snapshot.Day(month)
		if g.of.Hour > 0 || slices.ContainsFunc(g.snapshot.Files, func(f catalog.File) bool { return g.stays(&f, month) }) {
			to = i
		} else {
			left -= g.rows[month] - d.Rows
			d.Rows = g.rows[month]
		}
		all = append(all, d)
	}
	slices.Reverse(all)
	if to >= 0 {
		all[to].Rows += left
	}
	if g.whole() {
		all[0].Watermark = g.watermark()
	}
	return all
}

// stays reports whether a file has rows of a partition, and does not go.
func (g *readingsMaking) stays(f *catalog.File, m schema.Month) bool {
	goes := func(o catalog.File) bool { return o.Name == f.Name }
	return slices.Contains(f.Months, m) && !slices.ContainsFunc(g.gone, goes)
}

// whole reports whether the table has every row afterwards that storage had accepted when reading began.
func (g *readingsMaking) whole() bool {
	return g.of.Hour == 0 && !g.merges && (len(g.asked) == 0 || len(g.gone)+len(g.stay) == 0)
}

// grown returns how many rows more the new files have than those that go.
func (g *readingsMaking) grown() (n int64) {
	for _, f := range g.made {
		n += f.Stats.Rows
	}
	for _, f := range g.gone {
		n -= f.Stats.Rows
	}
	return n
}
