package jobs

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"furrow/jobs/plan"

	"furrow/tables/schema"
)

// planner returns what plans for the pipeline.
func (j job) planner() *plan.Planner {
	settings := map[schema.MarkKind]string{}
	for kind, g := range j.Groups {
		settings[kind] = g.Settings()
	}
	modelOf := j.models()
	return &plan.Planner{Pipeline: j.Name, Client: j.Client, Names: j.Names, Size: j.batch(), Late: j.late,
		Stated: func(m schema.Member) (string, time.Duration) {
			model := modelOf(m)
			return model.Settings, cmp.Or(model.Every, j.every(m))
		},
		Others: j.others, Rests: j.rests(), Generation: j.Generation, Cadence: j.cadence(), Settle: j.settle(),
		Marks: j.marks(), Groups: settings}
}

// month puts the devices of one or more partitions into batches, and writes their figures into the table runs.
// Repeated, it puts at most those batches twice that were put since the last save.
func (j job) month(ctx context.Context) (Result, error) {
	t := plan.Task{First: j.m.Month, Last: j.m.last(), Slot: j.m.Run, Audit: j.m.Audit, Since: j.m.Since, Extra: j.m.Extra,
		Before: j.m.Before, Progress: j.m.Progress, Tried: j.m.Attempts+j.m.Deaths > 0}
	planned, err := j.planner().Do(ctx, t, planning{j})
	if err == nil {
		err = j.runs().putFigures(ctx, planned.Figures)
	}
	r := Result{Batches: planned.Batches, Strange: planned.Strange}
	if err != nil {
		return r, fmt.Errorf("month %s: %w", j.m.Month, err)
	}
	return r, nil
}

// planning puts the messages of a plan.
type planning struct{ job }

func (s planning) Fold(ctx context.Context, b plan.Batch) error {
	return s.Put(ctx, s.batch(Device, b), 0)
}

func (s planning) Audit(ctx context.Context, b plan.Batch) error {
	m := s.batch(Audit, b)
	m.Audit, m.Since = s.m.Audit, s.m.Since
	return s.Put(ctx, m, 0)
}

func (s planning) batch(kind Kind, b plan.Batch) Message {
	m := s.m.next(kind)
	m.First, m.Last, m.Only, m.Resting = b.First, b.Last, b.Only, b.Resting
	return m
}

func (s planning) Group(ctx context.Context, month schema.Month, kind schema.MarkKind, mark string) error {
	m := s.m.next(Group)
	m.Month, m.Group, m.Mark = month, kind, mark
	return s.Put(ctx, m, 0)
}

func (s planning) Save(ctx context.Context, last schema.Place) error {
	s.m.Progress = last
	return s.save(ctx, s.m)
}
