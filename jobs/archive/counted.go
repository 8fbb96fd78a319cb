package archive

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/groups"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/schema"
)

// verifyCounts compares the days of a tenant's table of readings with the rows that the pipeline has counted: days
// that the table lacks, and days with fewer rows. Days that marks ask for wait, and days that are sealed have no
// counts. Only of days that differ, it reads the rows in storage, to count those that are no readings.
func (m *Tables) verifyCounts(ctx context.Context, t *catalog.Table, now tables.Ticks) (wrong []string, err error) {
	has := map[schema.Month]map[schema.Day]int64{}
	for d, err := range t.Days(ctx) {
		if err != nil {
			return nil, err
		}
		if has[d.Month] == nil {
			has[d.Month] = map[schema.Day]int64{}
		}
		has[d.Month][d.Date] = d.Rows
	}
	months, err := m.Source.Months(ctx)
	if err != nil {
		return nil, err
	}
	for _, month := range months {
		counted, err := m.Source.Counted(ctx, month, t.Tenant)
		if err != nil {
			return wrong, err
		}
		waiting, err := m.waitingDays(ctx, month, t.Tenant)
		if err != nil {
			return wrong, err
		}
		for _, day := range slices.Sorted(maps.Keys(counted.Rows)) {
			d, more := TableDay{Tenant: t.Tenant, Day: day, Month: month}, counted.Rows[day]-has[month][day]
			if more <= 0 || waiting[day] || !m.shouldHave(d, counted, now) {
				continue
			}
			others, err := m.strange(ctx, d)
			if err != nil {
				return wrong, err
			}
			if more > others {
				wrong = append(wrong, fmt.Sprintf("%s, partition %s: it has %d readings of %d", day, month, has[month][day],
					counted.Rows[day]-others))
			}
		}
	}
	return wrong, nil
}

// strange returns how many rows of a day are no readings, or may have been: retention may have deleted some.
func (m *Tables) strange(ctx context.Context, d TableDay) (n int64, err error) {
	day := m.Stored(d)
	day.Strange = func() { n++ }
	for member, err := range day.Members(ctx, "", "") {
		if err != nil {
			return n, err
		}
		if day.Gone(&member) {
			return math.MaxInt64, nil
		}
	}
	for _, err := range day.Readings(ctx, "", "", func(tables.Ticks) {}) {
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// shouldHave reports whether the table should have a day as it was counted.
func (m *Tables) shouldHave(d TableDay, counted groups.Counted, now tables.Ticks) bool {
	return d.Day >= counted.From && m.Closed(d, now) &&
		retain.KeepOfTenant(m.Source.Keep, d.Tenant).KeepsDay(d.Day, now)
}

// waitingDays returns the days of a tenant that marks ask for.
func (m *Tables) waitingDays(ctx context.Context, month schema.Month, t schema.Tenant) (map[schema.Day]bool, error) {
	days := map[schema.Day]bool{}
	for mark, err := range m.Source.Marks(ctx, month, schema.ArchiveMark) {
		if err != nil {
			return nil, err
		}
		if part, err := mark.Archive(); err == nil && mark.Tenant == t {
			days[part.Day] = true
		}
	}
	return days, nil
}
