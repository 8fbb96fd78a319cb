package archive

import (
	"context"
	"iter"
	"maps"
	"slices"

	"furrow/jobs/archive/catalog"
	"furrow/tables"
	"furrow/tables/schema"
)

// Contents are the tables that an archive has, of all tenants: also those that no pipeline makes any more.
type Contents struct {
	Catalog *catalog.Catalog
	Store   *Store // nil for who reads no file
}

// ReadingsTable is the name of a tenant's table of readings.
const ReadingsTable = "readings"

// Readings returns a tenant's table of readings, which need not exist.
func (c Contents) Readings(t schema.Tenant) *catalog.Table { return c.Catalog.Table(t, ReadingsTable) }

// TablesWith returns the tables of a tenant, and those of names that are no longer listed: a copy may still have them.
// It ignores names that no table has.
func (c Contents) TablesWith(ctx context.Context, t schema.Tenant, names []string) ([]*catalog.Table, error) {
	all, err := c.Catalog.Tables(ctx, t)
	for _, name := range names {
		listed := slices.ContainsFunc(all, func(t *catalog.Table) bool { return t.Name == name })
		one := c.Catalog.Table(t, name)
		if _, _, is := sumsOf(one); !listed && (is || name == ReadingsTable) {
			all = append(all, one)
		}
	}
	return all, err
}

// A HeldDay is what the tables have of a tenant's day.
type HeldDay struct {
	Tenant    schema.Tenant
	Day       schema.Day
	Files     int
	Readings  int64
	Rollups   int64 // rows in tables of rollups
	Reports   int64 // rows in tables of reports
	Bytes     int64
	Watermark tables.Ticks // every reading that storage had accepted then is in the tables; 0: the day is still open
}

// Held returns what the tables have of a tenant's days from first to last, in their order.
func (c Contents) Held(ctx context.Context, t schema.Tenant, first, last schema.Day) (held []HeldDay, err error) {
	every, err := c.Catalog.Tables(ctx, t)
	if err != nil {
		return nil, err
	}
	all := map[schema.Day]HeldDay{}
	for _, table := range every {
		kind, _, is := sumsOf(table)
		for f, err := range table.Files(ctx, first, last) {
			if err != nil {
				return nil, err
			}
			d := all[f.Date]
			d.Files, d.Bytes = d.Files+1, d.Bytes+f.Bytes
			switch {
			case !is:
				d.Readings += f.Stats.Rows
			case kind == rollupsKind:
				d.Rollups += f.Stats.Rows
			default:
				d.Reports += f.Stats.Rows
			}
			all[f.Date] = d
		}
	}
	least := map[schema.Day]tables.Ticks{} // of the partitions of the fleet
	for d, err := range c.Readings(t).DaysBetween(ctx, first, last) {
		if err != nil {
			return nil, err
		}
		if other, is := least[d.Date]; !is || d.Watermark < other {
			least[d.Date] = d.Watermark
		}
	}
	for _, day := range slices.Sorted(maps.Keys(all)) {
		d := all[day]
		d.Tenant, d.Day, d.Watermark = t, day, least[day]
		held = append(held, d)
	}
	return held, nil
}

// Tenants yields the tenants that have tables, in their order.
func (c Contents) Tenants(ctx context.Context) iter.Seq2[schema.Tenant, error] {
	return func(yield func(schema.Tenant, error) bool) {
		last := schema.Tenant("")
		for t, err := range c.Catalog.All(ctx) {
			if err != nil {
				yield("", err)
				return
			}
			if t.Tenant != last && !yield(t.Tenant, nil) {
				return
			}
			last = t.Tenant
		}
	}
}

// Parts returns what the table of readings has of a day: all of it, or the hours of an open one that have readings.
func (c Contents) Parts(ctx context.Context, t schema.Tenant, d catalog.Day) (all []TableDay, err error) {
	day := TableDay{Tenant: t, Day: d.Date, Month: d.Month}
	if d.Watermark > 0 {
		return []TableDay{day}, nil
	}
	hours := map[Hour]bool{}
	for f, err := range c.Readings(t).Files(ctx, d.Date, d.Date) {
		if err != nil {
			return nil, err
		}
		for day.Hour = 1; day.Hour <= 24; day.Hour++ {
			if day.has(&f) {
				hours[day.Hour] = true
			}
		}
	}
	for _, day.Hour = range slices.Sorted(maps.Keys(hours)) {
		all = append(all, day)
	}
	return all, nil
}

// A HeldFile is a live file of a table.
type HeldFile struct {
	Table string
	Day   schema.Day
	Path  string // name of its blob
	Rows  int64
	Bytes int64
}

// Files yields the live files of a tenant's table with days from first to last.
func (c Contents) Files(ctx context.Context, t schema.Tenant, table string,
	first, last schema.Day) iter.Seq2[HeldFile, error] {
	return func(yield func(HeldFile, error) bool) {
		of := c.Catalog.Table(t, table)
		for f, err := range of.Files(ctx, first, last) {
			one := HeldFile{Table: table, Day: f.Date, Path: of.Path(&f), Rows: f.Stats.Rows, Bytes: f.Bytes}
			if !yield(one, err) || err != nil {
				return
			}
		}
	}
}
