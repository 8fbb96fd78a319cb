package jobs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// month puts the devices of a partition into batches, and leaves its figures in
// the table runs. Done again after any part of it, it puts at most those batches
// twice that were put since the last save.
func (p *Pipeline) month(ctx context.Context, m Message, put Putter, save func(context.Context, Message) error) (Result, error) {
	before := m.Progress
	pl := newPlan(p, m, put, save)
	if before != "" || m.Attempts+m.Deaths > 0 {
		pl.figures.Again = 1
	}
	err := pl.over(ctx, tables.RowsAfter(m.Month.String(), string(before), ""))
	if err == nil && before != "" {
		// What was put before is counted when the rest is put: nothing waits for it.
		// To keep sums with the progress would take a write a page of every month, and
		// could not tell what was counted twice.
		pl.put = nil
		err = pl.over(ctx, tables.RowsAfter(m.Month.String(), "", string(before)))
	}
	if err == nil {
		err = p.leave(ctx, pl.figures)
	}
	if err != nil {
		return pl.result, fmt.Errorf("month %s: %w", m.Month, err)
	}
	return pl.result, nil
}

// leave leaves the figures of a month, and counts its batches on the run's row.
func (p *Pipeline) leave(ctx context.Context, f schema.MonthFigures) error {
	e, err := f.Entity()
	if err != nil {
		return err
	}
	if _, err := p.runs().Do(ctx, tables.InsertOrReplace(e)); err != nil {
		return err
	}
	// Many months end at once, and one write serves all whose figures it found.
	const tries = 12
	for try := range tries {
		err = p.countBatches(ctx, f.Slot)
		if !errors.Is(err, tables.ErrConflict) {
			return err
		}
		if err := pause(ctx, rand.IntN(1+min(try, 5))); err != nil {
			return err
		}
	}
	return err
}

// countBatches gives the run's row the sum of its months' batches. The row is
// read first: a version that still stands when the sum is written had counted no
// month that the sum does not know. So the last sum has all of them, and none
// twice, however often month jobs are done again.
func (p *Pipeline) countBatches(ctx context.Context, slot tables.Ticks) error {
	e, err := p.runs().Get(ctx, string(p.Name), slot.String())
	if errors.Is(err, tables.ErrNotFound) {
		return nil // the run was put by hand
	}
	if err != nil {
		return err
	}
	run, err := schema.RunOf(e)
	if err != nil {
		return err
	}
	sum := schema.Run{Pipeline: p.Name, Slot: slot}
	q := tables.Query{Range: schema.MonthsOf(p.Name, slot), Select: []string{"Batches", "Audits"}}
	for page, err := range p.runs().Rows(ctx, q) {
		if err != nil {
			return err
		}
		for i := range page.Rows {
			sum.Batches += page.Rows[i].Get("Batches").Int()
			sum.Audits += page.Rows[i].Get("Audits").Int()
		}
	}
	if sum.Batches == run.Batches && sum.Audits == run.Audits {
		return nil
	}
	return p.merge(ctx, sum, run.ETag)
}

// saveAfter is a third of a lease, and how long a month job goes on at most
// without a save.
const saveAfter = 10 * time.Second
