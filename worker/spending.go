package worker

import (
	"cmp"
	"context"
	"errors"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// countAfter is when the figures of a run hardly change any more. What workers add later is not counted.
const countAfter = time.Hour

// Spent returns what a pipeline's runs have done in the month of now so far, as far as it is counted.
func (r Runs) Spent(ctx context.Context, p schema.Pipeline, now time.Time) (schema.Spending, error) {
	month := schema.MonthOf(now, 0)
	pk, rk := schema.SpendingKeys(p, month)
	e, err := r.Table.Get(ctx, pk, rk)
	if errors.Is(err, tables.ErrNotFound) || errors.Is(err, tables.ErrNoTable) {
		return schema.Spending{Pipeline: p, Month: month}, nil
	}
	if err != nil {
		return schema.Spending{}, err
	}
	return schema.SpendingOf(p, e)
}

// CountSpent adds the runs that nobody has counted to the month's Spending, and writes it: about three requests an
// hour. Master jobs delete figures after a day, so runs before the first call may be missing. Several schedulers may
// call it: whoever writes first has counted.
func (r Runs) CountSpent(ctx context.Context, p schema.Pipeline, now time.Time) error {
	s, err := r.Spent(ctx, p, now)
	if err != nil {
		return err
	}
	month := tables.TicksOf(time.Date(s.Month.Year, s.Month.Month, 1, 0, 0, 0, 0, time.UTC))
	since, until := cmp.Or(s.Through, month), tables.TicksOf(now.Add(-countAfter))
	if s.ETag != "" && until < since.Add(countAfter) || until <= since {
		return nil
	}
	runs, err := r.FiguresAlone(ctx, p, since)
	if err != nil {
		return err
	}
	var sum schema.WorkerFigures
	for _, run := range runs {
		if run.Run.Slot < until {
			sum.Add(run.Workers)
			s.From = cmp.Or(s.From, run.Run.Slot)
		}
	}
	if s.From == 0 {
		return nil
	}
	s.Through = until
	s.Rows += sum.Rows
	for kind, n := range sum.Operations {
		if s.Operations == nil {
			s.Operations = map[string]int64{}
		}
		s.Operations[kind] += n
	}
	write := tables.Insert(s.Entity())
	if s.ETag != "" {
		write = tables.Replace(s.Entity(), s.ETag)
	}
	_, err = r.Table.Do(ctx, write)
	if errors.Is(err, tables.ErrExists) || errors.Is(err, tables.ErrConflict) {
		return nil
	}
	return err
}
