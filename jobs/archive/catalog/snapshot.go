package catalog

import (
	"context"
	"errors"
	"iter"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Snapshot is what a table had of a day when a job began: before it read who belongs to the tenant, and their rows.
type Snapshot struct {
	Date  schema.Day
	Days  []Day  // of each partition of the fleet that the table has something of
	Files []File // all live ones
	epoch int64
}

// Begin reads what a table has of a day. Days are read before files: so a commit in between has changed a Day, and
// that of the job will fail.
func (t *Table) Begin(ctx context.Context, date schema.Day) (*Snapshot, error) {
	h, err := t.head(ctx)
	if err != nil {
		return nil, t.wrap("reading it", err)
	}
	s := &Snapshot{Date: date, epoch: h.epoch}
	for d, err := range t.DaysBetween(ctx, date, date) {
		if err != nil {
			return nil, err
		}
		s.Days = append(s.Days, d)
	}
	for f, err := range t.Files(ctx, date, date) {
		if err != nil {
			return nil, err
		}
		s.Files = append(s.Files, f)
	}
	return s, nil
}

// Day returns what the table has of a partition of the fleet, or a new Day.
func (s *Snapshot) Day(m schema.Month) Day {
	if i := slices.IndexFunc(s.Days, func(d Day) bool { return d.Month == m }); i >= 0 {
		return s.Days[i]
	}
	return Day{Date: s.Date, Month: m}
}

// Day returns what a table has of one day and one partition of the fleet, or a new Day.
func (t *Table) Day(ctx context.Context, date schema.Day, m schema.Month) (Day, error) {
	d := Day{Date: date, Month: m}
	e, err := t.rows.Get(ctx, t.key, d.row())
	if errors.Is(err, tables.ErrNotFound) || errors.Is(err, tables.ErrNoTable) {
		return d, nil
	}
	if err == nil {
		d, err = dayOf(e)
	}
	return d, t.wrap("reading a day", err)
}

// Days yields what a table has of each day and partition of the fleet.
func (t *Table) Days(ctx context.Context) iter.Seq2[Day, error] {
	return wrapped(t, "reading its days", read(ctx, t.partition, t.query(dayRows), dayOf))
}

// DaysBetween yields what a table has of each partition of the fleet and each day from first to last.
func (t *Table) DaysBetween(ctx context.Context, first, last schema.Day) iter.Seq2[Day, error] {
	return wrapped(t, "reading its days", read(ctx, t.partition, t.between(dayRows, first, last), dayOf))
}

// AllFiles yields the live files of a table.
func (t *Table) AllFiles(ctx context.Context) iter.Seq2[File, error] {
	return wrapped(t, "reading its files", read(ctx, t.partition, t.query(fileRows), fileOf))
}

// Files yields the live files of a table, of days from first to last.
func (t *Table) Files(ctx context.Context, first, last schema.Day) iter.Seq2[File, error] {
	return wrapped(t, "reading its files", read(ctx, t.partition, t.between(fileRows, first, last), fileOf))
}

// wrapped yields what all yields, and names the table in errors.
func wrapped[T any](t *Table, what string, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for one, err := range all {
			if !yield(one, t.wrap(what, err)) {
				return
			}
		}
	}
}
