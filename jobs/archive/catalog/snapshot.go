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
	for e, err := range t.rows.Entities(ctx, t.query(dayRows+date.String()+schema.Separator)) {
		if err != nil {
			return nil, t.wrap("reading it", err)
		}
		d, err := dayOf(e)
		if err != nil {
			return nil, t.wrap("reading it", err)
		}
		s.Days = append(s.Days, d)
	}
	for e, err := range t.rows.Entities(ctx, t.query(fileRows+date.String()+schema.Separator)) {
		if err != nil {
			return nil, t.wrap("reading it", err)
		}
		f, err := fileOf(e)
		if err != nil {
			return nil, t.wrap("reading it", err)
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
	return t.days(ctx, tables.KeysWithPrefix(dayRows))
}

// DaysBetween yields what a table has of each partition of the fleet and each day from first to last.
func (t *Table) DaysBetween(ctx context.Context, first, last schema.Day) iter.Seq2[Day, error] {
	return t.days(ctx, between(dayRows, first, last))
}

func (t *Table) days(ctx context.Context, rows tables.Keys) iter.Seq2[Day, error] {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(t.key), Rows: rows}}
	return func(yield func(Day, error) bool) {
		for e, err := range t.rows.Entities(ctx, q) {
			d := Day{}
			if err == nil {
				d, err = dayOf(e)
			}
			if !yield(d, t.wrap("reading its days", err)) || err != nil {
				return
			}
		}
	}
}

// AllFiles yields the live files of a table.
func (t *Table) AllFiles(ctx context.Context) iter.Seq2[File, error] {
	return t.files(ctx, tables.KeysWithPrefix(fileRows))
}

// Files yields the live files of a table, of days from first to last.
func (t *Table) Files(ctx context.Context, first, last schema.Day) iter.Seq2[File, error] {
	return t.files(ctx, between(fileRows, first, last))
}

// between returns the keys of a kind of rows, of days from first to last.
func between(kind string, first, last schema.Day) tables.Keys {
	return tables.Keys{From: kind + first.String(), Before: tables.KeysWithPrefix(kind + last.String()).Before}
}

func (t *Table) files(ctx context.Context, rows tables.Keys) iter.Seq2[File, error] {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(t.key), Rows: rows}}
	return func(yield func(File, error) bool) {
		for e, err := range t.rows.Entities(ctx, q) {
			f := File{}
			if err == nil {
				f, err = fileOf(e)
			}
			if !yield(f, t.wrap("reading its files", err)) || err != nil {
				return
			}
		}
	}
}
