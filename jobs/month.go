package jobs

import (
	"context"
	"fmt"

	"furrow/jobs/plan"

	"furrow/tables/schema"
)

// planner returns what plans for the pipeline.
func (p *Pipeline) planner() *plan.Planner {
	settings := map[schema.MarkKind]string{}
	for kind, g := range p.Groups {
		settings[kind] = g.Settings()
	}
	return &plan.Planner{Pipeline: p.Name, Client: p.Client, Names: p.Names, Size: p.batch(), Late: p.late,
		Every: p.everyOf, Others: p.others, Rests: p.rests(), Generation: p.Generation, Cadence: p.cadence(),
		Settle:   p.settle(),
		Settings: func(m schema.Member) string { return p.modelOf(m).Settings }, Marks: p.marks(), Groups: settings}
}

// month puts the devices of one or more partitions into batches, and writes their figures into the table runs.
// Repeated, it puts at most those batches twice that were put since the last save.
func (p *Pipeline) month(ctx context.Context, m Message, put Putter, save Save) (Result, error) {
	t := plan.Task{First: m.Month, Last: m.last(), Slot: m.Run, Audit: m.Audit, Since: m.Since, Extra: m.Extra,
		Before: m.Before, Progress: m.Progress, Tried: m.Attempts+m.Deaths > 0}
	planned, err := p.planner().Do(ctx, t, planning{m, put, save})
	if err == nil {
		err = p.runs().putFigures(ctx, m.Run, planned.Figures)
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

func (s planning) Fold(ctx context.Context, b plan.Batch) error {
	return s.put.Put(ctx, s.batch(Device, b), 0)
}

func (s planning) Audit(ctx context.Context, b plan.Batch) error {
	m := s.batch(Audit, b)
	m.Audit, m.Since = s.message.Audit, s.message.Since
	return s.put.Put(ctx, m, 0)
}

func (s planning) batch(kind Kind, b plan.Batch) Message {
	m := s.message.next(kind)
	m.First, m.Last, m.Only, m.Resting = b.First, b.Last, b.Only, b.Resting
	return m
}

func (s planning) Group(ctx context.Context, month schema.Month, kind schema.MarkKind, mark string) error {
	m := s.message.next(Group)
	m.Month, m.Group, m.Mark = month, kind, mark
	return s.put.Put(ctx, m, 0)
}

func (s planning) Save(ctx context.Context, last schema.Place) error {
	s.message.Progress = last
	return s.save(ctx, s.message)
}
