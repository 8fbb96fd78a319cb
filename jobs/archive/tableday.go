package archive

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/archive/delta"
	"furrow/jobs/groups"
	"furrow/tables"
	"furrow/tables/schema"
)

// A TableDay is a day of a tenant, or an hour of a day that is still open, of the devices in one partition of the
// fleet.
type TableDay struct {
	Tenant schema.Tenant
	Day    schema.Day
	Hour   Hour
	Month  schema.Month
}

// An Hour is an hour of a day, from 1, which begins at midnight, to 24. 0 is the whole day.
type Hour int

// When returns the day, or the hour as in 2026-11-20T13.
func (d TableDay) When() string { return schema.ArchivePart{Day: d.Day, Hour: int(d.Hour)}.Name() }

// Compare orders by tenant, day, hour and partition.
func (d TableDay) Compare(o TableDay) int {
	return cmp.Or(cmp.Compare(d.Tenant, o.Tenant), cmp.Compare(d.Day, o.Day), cmp.Compare(d.Hour, o.Hour),
		d.Month.Compare(o.Month))
}

// Times returns the time of its readings: ticks in [from, to).
func (d TableDay) Times() (from, to tables.Ticks) {
	if d.Hour == 0 {
		return d.Day.Start(), end(d.Day)
	}
	from = d.Day.Start() + tables.Ticks(d.Hour-1)*tables.Hour
	return from, from + tables.Hour
}

func end(d schema.Day) tables.Ticks { return (d + 1).Start() }

// whole returns the whole day.
func (d TableDay) whole() TableDay {
	d.Hour = 0
	return d
}

// mark returns the mark that has it made again.
func (d TableDay) mark() schema.Mark {
	return schema.Mark{Month: d.Month, Kind: schema.ArchiveMark, Tenant: d.Tenant, Name: d.When()}
}

// has reports whether a file of the day has no rows but those of d. The files of an open day have an hour each.
func (d TableDay) has(f *catalog.File) bool {
	if is := slices.Contains(f.Months, d.Month); d.Hour == 0 || !is {
		return is
	}
	from, to := d.Times()
	of, hour := f.Stats.Ranges[columnar.Time], delta.Times(from.Time(), to.Time())
	return of.Min >= hour.Min && of.Min < hour.Max && of.Max <= hour.Max // what begins with the next hour is of that one
}

// Stored returns the readings of d as storage has them.
func (m *Tables) Stored(d TableDay) groups.TenantDay {
	return m.Source.TenantDay(d.Month, d.Tenant, d.Day).Part(d.Times())
}

// Days yields every day that the archive has of a partition of the fleet, also in the form of earlier releases.
func (m *Tables) Days(ctx context.Context, month schema.Month) iter.Seq2[TableDay, error] {
	return func(yield func(TableDay, error) bool) {
		for tenant, err := range m.Source.Tenants(ctx, month) {
			if err != nil {
				yield(TableDay{}, err)
				return
			}
			has := map[schema.Day]bool{}
			for d, err := range m.Readings(tenant).Days(ctx) {
				if err == nil && d.Month != month {
					continue
				}
				if !yield(TableDay{Tenant: tenant, Day: d.Date, Month: month}, err) || err != nil {
					return
				}
				has[d.Date] = true
			}
			older, err := m.older.days(ctx, m.Store, tenant, month)
			if err != nil {
				yield(TableDay{}, err)
				return
			}
			for _, day := range older {
				if !has[day] && !yield(TableDay{Tenant: tenant, Day: day, Month: month}, nil) {
					return
				}
			}
		}
	}
}

// Closed reports whether a day or hour is over, and can be made.
func (m *Tables) Closed(d TableDay, now tables.Ticks) bool {
	_, to := d.Times()
	return to.Add(m.CloseAfter) <= now
}

// Due returns what there should be of a day: all of it once it is closed, or its closed hours where they are asked
// for.
func (m *Tables) Due(d TableDay, now tables.Ticks) (due []TableDay) {
	if d = d.whole(); m.Closed(d, now) {
		return []TableDay{d}
	}
	for d.Hour = 1; m.Hourly && d.Hour <= 24 && m.Closed(d, now); d.Hour++ {
		due = append(due, d)
	}
	return due
}

// Has reports whether the table of readings has a whole day, and storage the files of it: whoever deletes its rows must
// know.
func (m *Tables) Has(ctx context.Context, d TableDay) (bool, error) {
	t := m.Readings(d.Tenant)
	of, err := t.Day(ctx, d.Day, d.Month)
	if err != nil || of.Watermark == 0 {
		return false, err
	}
	for f, err := range t.Files(ctx, d.Day, d.Day) {
		if err != nil {
			return false, err
		}
		if !d.has(&f) {
			continue
		}
		if size, err := m.Store.size(ctx, t.Path(&f)); err != nil || size != f.Bytes {
			return false, err
		}
	}
	return true, nil
}

// Empty reports whether d would be made of nothing: it was never made, and no device has readings in it.
func (m *Tables) Empty(ctx context.Context, d TableDay) (bool, error) {
	if of, err := m.Readings(d.Tenant).Day(ctx, d.Day, d.Month); err != nil || of.Changed > 0 {
		return false, err
	}
	if is, err := m.older.has(ctx, m.Store, d); err != nil || is {
		return false, err
	}
	for _, err := range m.Stored(d).Readings(ctx, "", "", func(tables.Ticks) {}) {
		return false, err
	}
	return true, nil
}

func (d TableDay) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s of %s, partition %s: %w", d.When(), d.Tenant, d.Month, err)
}
