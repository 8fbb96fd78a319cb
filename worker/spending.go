package worker

import (
	"context"
	"errors"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// countAfter is when the figures of a run hardly change any more. What workers add later is not counted.
const countAfter = time.Hour

// SpentDays returns what a pipeline's runs have done on each day from one to another, both inclusive, as far as it is
// counted. It takes one request.
func (r Runs) SpentDays(ctx context.Context, p schema.Pipeline, from, to schema.Day) (
	all []schema.Spending, err error) {
	for e, err := range r.Table.Entities(ctx, tables.Query{Range: schema.Spendings(p, from, to)}) {
		if err != nil {
			return nil, err
		}
		s, err := schema.SpendingOf(p, e)
		if err != nil && r.skip(e, err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Spent returns what a pipeline's runs have done in the month of now so far, as far as it is counted.
func (r Runs) Spent(ctx context.Context, p schema.Pipeline, now time.Time) (sum schema.Spending, err error) {
	now = now.UTC()
	first := schema.DayOf(tables.TicksOf(time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)))
	days, err := r.SpentDays(ctx, p, first, schema.DayOf(tables.TicksOf(now)))
	sum.Pipeline, sum.Day = p, first
	for _, s := range days {
		sum.Add(s)
	}
	return sum, err
}

// countedDays is how far back CountSpent looks for what it has counted before.
const countedDays = 31

// CountSpent adds the runs that nobody has counted to the Spending of their days, and writes it: about three requests
// an hour. Master jobs delete figures after a day, so runs before the first call may be missing. Several schedulers may
// call it: whoever writes first has counted. The clock of one may be ahead, so what it has counted ends at the slot
// after the last run, which may have come between two.
func (r Runs) CountSpent(ctx context.Context, p schema.Pipeline, cadence time.Duration, now time.Time) error {
	today := schema.DayOf(tables.TicksOf(now))
	days, err := r.SpentDays(ctx, p, today-countedDays, today)
	if err != nil {
		return err
	}
	since, until := (today - countedDays).Start(), tables.TicksOf(now.Add(-countAfter))
	byDay := map[schema.Day]schema.Spending{}
	for _, s := range days {
		since, byDay[s.Day] = s.Through, s
	}
	if len(days) > 0 && until < since.Add(countAfter) || until <= since {
		return nil
	}
	runs, err := r.FiguresAlone(ctx, p, since)
	if err != nil {
		return err
	}
	changed := map[schema.Day]bool{}
	for _, run := range runs {
		if slot := run.Run.Slot; slot < until {
			day := schema.DayOf(slot)
			s := byDay[day]
			next := slotAt(slot.Time(), cadence).Add(cadence)
			s.Add(schema.Spending{Pipeline: p, Day: day, From: slot, Through: min(until, next, (day + 1).Start()),
				Rows: run.Workers.Rows, Operations: run.Workers.Operations})
			byDay[day], changed[day] = s, true
		}
	}
	return r.writeSpent(ctx, byDay, changed)
}

// writeSpent writes the days that have changed in one transaction, unless somebody else has.
func (r Runs) writeSpent(ctx context.Context, days map[schema.Day]schema.Spending, changed map[schema.Day]bool) error {
	var ops []tables.Op
	for day := range changed {
		if s := days[day]; s.ETag == "" {
			ops = append(ops, tables.Insert(s.Entity()))
		} else {
			ops = append(ops, tables.Replace(s.Entity(), s.ETag))
		}
	}
	if len(ops) == 0 {
		return nil
	}
	_, err := r.Table.Submit(ctx, ops)
	if errors.Is(err, tables.ErrExists) || errors.Is(err, tables.ErrConflict) {
		return nil
	}
	return err
}
