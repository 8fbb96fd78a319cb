package refold

import (
	"context"

	"furrow/jobs/commit"
	"furrow/jobs/folding"
	"furrow/tables"
	"furrow/tables/schema"
)

// Do audits device after device, and counts failures on their tracking rows. An error of one concerns no other.
func (r *Refolder) Do(ctx context.Context, t Task, work []*folding.Device, now tables.Ticks) (Result, error) {
	a := &auditor{Refolder: r, task: t, now: now, left: r.Most, result: Result{Failed: map[schema.Place]error{}}}
	for _, d := range work {
		a.mark = t.Mark
		if err := a.turnTo(ctx, d); err != nil {
			return Result{}, err
		}
		a.serve(d)
	}
	if err := a.sealTogether(ctx); err != nil {
		return Result{}, err
	}
	for _, d := range work {
		if d.Err != nil {
			a.result.Failed[d.Member.Place()] = d.Err
		}
	}
	j := &commit.Attempt{Writer: r.Writer, Now: now, Work: folding.Changes(work)}
	if err := j.Fail(ctx); err != nil {
		return Result{}, err
	}
	return a.result, nil
}
