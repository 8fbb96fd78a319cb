package jobs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"furrow/jobs/commit"
	"furrow/tables"
	"furrow/tables/schema"
)

// month puts the devices of one or more partitions into batches, and writes their figures into the table runs.
// Repeated, it puts at most those batches twice that were put since the last save.
func (p *Pipeline) month(ctx context.Context, m Message, put Putter, save Save) (Result, error) {
	before, all := m.Progress, m.partitions()
	pl := newPlan(p, m, put, save)
	rest := all
	if before != (schema.Place{}) {
		pl.resumed = before.Month
		rest.Partitions.From = before.Month.String()
		if rest.Partitions.From == rest.Partitions.To {
			rest.Rows.After = string(before.Key)
		}
	}
	err := pl.over(ctx, rest, func(at schema.Place) bool { return at.Compare(before) > 0 })
	if err == nil && before != (schema.Place{}) {
		// What was put before is counted after the rest is put, when nothing waits for it. Keeping sums with the progress
		// would take a write for every page of every month, and could not tell what was counted twice.
		pl.put, pl.resumed, pl.month = nil, schema.Month{}, schema.Month{}
		all.Partitions.To = before.Month.String()
		if all.Partitions.From == all.Partitions.To {
			all.Rows.To = string(before.Key)
		}
		err = pl.over(ctx, all, func(at schema.Place) bool { return at.Compare(before) <= 0 })
	}
	if err == nil {
		if before != (schema.Place{}) || m.Attempts+m.Deaths > 0 {
			pl.figuresOf(m.Month).Again = 1
		}
		err = p.leave(ctx, m.Run, pl.counted())
	}
	if err != nil {
		return pl.result, fmt.Errorf("month %s: %w", m.Month, err)
	}
	return pl.result, nil
}

// leave writes the figures of partitions, and counts their batches on the run's row.
func (p *Pipeline) leave(ctx context.Context, slot tables.Ticks, figures []*schema.MonthFigures) error {
	ops := make([]tables.Op, len(figures))
	for i, f := range figures {
		e, err := f.Entity()
		if err != nil {
			return err
		}
		ops[i] = tables.InsertOrReplace(e)
	}
	groups, err := tables.Cut(ops)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if len(g) == 1 {
			_, err = p.runs().Do(ctx, g[0])
		} else {
			_, err = p.runs().Submit(ctx, g)
		}
		if err != nil {
			return err
		}
	}
	// Many months end at once, and one write serves all months with figures.
	const tries = 12
	for try := range tries {
		err = p.countBatches(ctx, slot)
		if !errors.Is(err, tables.ErrConflict) {
			return err
		}
		if err := commit.Pause(ctx, rand.IntN(1+min(try, 5))); err != nil {
			return err
		}
	}
	return err
}

// countBatches writes the sum of the months' batches into the run's row. It reads the row first: if that version still
// stands when the sum is written, it had counted no month that the sum lacks. So the last sum counts every month once,
// however often month jobs are repeated.
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
	q := tables.Query{Range: schema.MonthsOf(p.Name, slot), Select: []string{schema.MonthBatches, schema.MonthAudits}}
	for page, err := range p.runs().Rows(ctx, q) {
		if err != nil {
			return err
		}
		for i := range page.Rows {
			sum.Batches += page.Rows[i].Get(schema.MonthBatches).Int()
			sum.Audits += page.Rows[i].Get(schema.MonthAudits).Int()
		}
	}
	if sum.Batches == run.Batches && sum.Audits == run.Audits {
		return nil
	}
	return p.merge(ctx, sum, run.ETag)
}

// saveAfter is a third of a lease, the longest time without a save in a month job.
const saveAfter = 10 * time.Second
