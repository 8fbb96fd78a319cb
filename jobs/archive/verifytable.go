package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/schema"
)

// A HeldTable is a table of a tenant with what is wrong with it.
type HeldTable struct {
	Tenant schema.Tenant `json:"tenant"`
	Table  string        `json:"table"`
	Files  int           `json:"files"`
	Rows   int64         `json:"rows"`
	Bytes  int64         `json:"bytes"`
	Wrong  []string      `json:"wrong,omitempty"`
}

// Verify counts the tables of a tenant: the days and the files of each, and what the fleet has folded of each closed
// day. With files, it also lists the container. A tenant without a table of readings has one here if it should.
func (m *Tables) Verify(ctx context.Context, t schema.Tenant, files bool,
	now tables.Ticks) iter.Seq2[HeldTable, error] {
	return func(yield func(HeldTable, error) bool) {
		every, err := m.Catalog.Tables(ctx, t)
		if err != nil {
			yield(HeldTable{}, err)
			return
		}
		v := tableVerifier{m, files, now}
		counted := false
		for _, table := range every {
			one, err := v.verify(ctx, table)
			if errors.Is(err, catalog.ErrAbsent) {
				continue
			}
			counted = counted || table.Name == ReadingsTable
			if !yield(one, err) || err != nil {
				return
			}
		}
		if counted || m.Source == nil {
			return
		}
		wrong, err := v.verifyCounts(ctx, m.Readings(t))
		if err != nil || len(wrong) > 0 {
			yield(HeldTable{Tenant: t, Table: ReadingsTable, Wrong: wrong}, err)
		}
	}
}

// A tableVerifier verifies tables.
type tableVerifier struct {
	*Tables
	files bool // the container is listed, too
	now   tables.Ticks
}

func (v tableVerifier) verify(ctx context.Context, t *catalog.Table) (one HeldTable, err error) {
	one = HeldTable{Tenant: t.Tenant, Table: t.Name}
	for f, err := range t.AllFiles(ctx) {
		if err != nil {
			return one, err
		}
		one.Files, one.Rows, one.Bytes = one.Files+1, one.Rows+f.Stats.Rows, one.Bytes+f.Bytes
	}
	var in catalog.Container
	if v.files {
		in = v.Store
	}
	if one.Wrong, err = t.Verify(ctx, in); err != nil {
		return one, err
	}
	s, err := t.State(ctx)
	if err != nil {
		return one, err
	}
	if s.Foreign {
		one.Wrong = append(one.Wrong, catalog.ErrForeign.Error())
	} else if s.Published < s.Version {
		one.Wrong = append(one.Wrong, fmt.Sprintf("version %d is not published since %s", s.Version,
			s.Waiting.UTC().Format(time.RFC3339)))
	}
	if t.Name != ReadingsTable || v.Source == nil {
		return one, nil
	}
	more, err := v.verifyCounts(ctx, t)
	one.Wrong = append(one.Wrong, more...)
	return one, err
}

// verifyCounts compares the days of a tenant's table of readings with the rows that the pipeline has counted: days
// that the table lacks, and days with fewer rows. Days that marks ask for wait, and days that are sealed have no
// counts. Only of days that differ, it reads the rows in storage, to count those that are no readings.
func (v tableVerifier) verifyCounts(ctx context.Context, t *catalog.Table) (wrong []string, err error) {
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
	months, err := v.Source.Months(ctx)
	if err != nil {
		return nil, err
	}
	for _, month := range months {
		counted, err := v.Source.Counted(ctx, month, t.Tenant)
		if err != nil {
			return wrong, err
		}
		waiting, err := v.waitingDays(ctx, month, t.Tenant)
		if err != nil {
			return wrong, err
		}
		for _, day := range slices.Sorted(maps.Keys(counted)) {
			d, more := TableDay{Tenant: t.Tenant, Day: day, Month: month}, counted[day]-has[month][day]
			if more <= 0 || waiting[day] || !v.shouldHave(d) {
				continue
			}
			others, err := v.strange(ctx, d)
			if err != nil {
				return wrong, err
			}
			if more > others {
				wrong = append(wrong, fmt.Sprintf("%s, partition %s: it has %d readings of %d", day, month, has[month][day],
					counted[day]-others))
			}
		}
	}
	return wrong, nil
}

// strange returns how many rows of a day are no readings, or may have been: retention may have deleted some.
func (v tableVerifier) strange(ctx context.Context, d TableDay) (n int64, err error) {
	day := v.Stored(d)
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

// shouldHave reports whether the table should have a day.
func (v tableVerifier) shouldHave(d TableDay) bool {
	return v.Closed(d, v.now) && retain.KeepOfTenant(v.Source.Keep, d.Tenant).KeepsDay(d.Day, v.now)
}

// waitingDays returns the days of a tenant that marks ask for.
func (v tableVerifier) waitingDays(ctx context.Context, month schema.Month,
	t schema.Tenant) (map[schema.Day]bool, error) {
	days := map[schema.Day]bool{}
	for mark, err := range v.Source.Marks(ctx, month, schema.ArchiveMark) {
		if err != nil {
			return nil, err
		}
		if part, err := mark.Archive(); err == nil && mark.Tenant == t {
			days[part.Day] = true
		}
	}
	return days, nil
}
