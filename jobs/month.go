package jobs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"furrow/jobs/plan"

	"furrow/jobs/commit"
	"furrow/tables"
	"furrow/tables/schema"
)

// planner returns what plans for the pipeline.
func (p *Pipeline) planner() *plan.Planner {
	settings := map[schema.MarkKind]string{}
	for kind, g := range p.Groups {
		settings[kind] = g.Settings()
	}
	return &plan.Planner{Pipeline: p.Name, Client: p.Client, Names: p.Names, Size: p.batch(), Late: p.late,
		Settings: func(m schema.Member) string { return p.modelOf(m).Settings }, Marks: p.marks(), Groups: settings}
}

// month puts the devices of one or more partitions into batches, and writes their figures into the table runs.
// Repeated, it puts at most those batches twice that were put since the last save.
func (p *Pipeline) month(ctx context.Context, m Message, put Putter, save Save) (Result, error) {
	t := plan.Task{First: m.Month, Last: m.last(), Slot: m.Run, Audit: m.Audit, Since: m.Since, Extra: m.Extra,
		Progress: m.Progress, Tried: m.Attempts+m.Deaths > 0}
	planned, err := p.planner().Do(ctx, t, planning{m, put, save})
	if err == nil {
		err = p.leave(ctx, m.Run, planned.Figures)
	}
	r := Result{Batches: planned.Batches, Strange: planned.Strange}
	if err != nil {
		return r, fmt.Errorf("month %s: %w", m.Month, err)
	}
	return r, nil
}

// planning puts the messages of a plan.
type planning struct {
	message Message // the month job's
	put     Putter
	save    Save
}

func (s planning) Batch(ctx context.Context, b plan.Batch) error {
	m := Message{Kind: Device, Pipeline: s.message.Pipeline, Run: s.message.Run, Generation: s.message.Generation,
		First: b.First, Last: b.Last}
	if b.Folded {
		if err := s.put.Put(ctx, m, 0); err != nil {
			return err
		}
	}
	if !b.Audit {
		return nil
	}
	m.Kind, m.Audit, m.Since = Audit, s.message.Audit, s.message.Since
	return s.put.Put(ctx, m, 0)
}

func (s planning) Group(ctx context.Context, month schema.Month, kind schema.MarkKind, mark string) error {
	m := s.message
	return s.put.Put(ctx, Message{Kind: Group, Pipeline: m.Pipeline, Run: m.Run, Generation: m.Generation, Month: month,
		Group: kind, Mark: mark}, 0)
}

func (s planning) Save(ctx context.Context, last schema.Place) error {
	s.message.Progress = last
	return s.save(ctx, s.message)
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
