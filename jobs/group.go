package jobs

import (
	"context"
	"crypto/rand"
	"fmt"

	"furrow/jobs/commit"
	"furrow/jobs/groups"
	"furrow/tables"
	"furrow/tables/schema"
)

// Source returns the pipeline as groups see it.
func (p *Pipeline) Source() *groups.Source {
	return &groups.Source{Pipeline: p.Name, Client: p.Client, Names: p.Names, ModelOf: p.modelOf, Keep: p.Keep,
		Settle: p.Settle}
}

// group does a group job: it works off the marks of a kind in one partition of the fleet.
func (j job) group(ctx context.Context) (r Result, err error) {
	grouping := j.Groups[j.m.Group]
	if grouping == nil {
		return r, nil // the configuration has changed
	}
	turn, err := j.groupTurn(ctx)
	if err != nil || turn.ID != j.m.Mark {
		return r, err // another job has taken over
	}
	source := j.Source()
	if turn.Settings != grouping.Settings() {
		if err := source.MarkAll(ctx, grouping, j.m.Month); err != nil {
			return r, fmt.Errorf("marking all of %s again: %w", j.m.Month, err)
		}
		turn.Settings = grouping.Settings()
		// It is stored before anything is made: if this job dies, other settings have all of that made again.
		placed, err := commit.Place(ctx, j.tracking(), tables.Replace(turn.Entity(), turn.ETag))
		if !placed {
			return r, err
		}
		if turn, err = j.groupTurn(ctx); err != nil || turn.ID != j.m.Mark {
			return r, err
		}
	}
	worked, err := source.Work(ctx, grouping, j.m.Month, j.m.Group)
	r.Made, r.Strange = worked.Made, worked.Strange
	if err != nil {
		return r, fmt.Errorf("%s of %s: %w", j.m.Group, j.m.Month, err)
	}
	next := j.m.Untried()
	turn.ID, turn.Until, next.Mark = "", 0, rand.Text()
	turn.Waiting, turn.Since = worked.Waiting, worked.Since
	if worked.More {
		turn.ID, turn.Until = next.Mark, worked.Now.Add(j.marks())
	}
	placed, err := commit.Place(ctx, j.tracking(), tables.Replace(turn.Entity(), turn.ETag))
	if !placed || !worked.More { // somebody continues already, or nobody has to
		return r, err
	}
	return r, j.Put(ctx, next, 0)
}

// groupTurn reads who may work on the marks.
func (j job) groupTurn(ctx context.Context) (schema.GroupTurn, error) {
	e, err := j.tracking().Get(ctx, j.m.Month.String(), schema.GroupKey(j.m.Group))
	if tables.Absent(err) {
		return schema.GroupTurn{}, nil
	}
	t, _ := schema.GroupTurnOf(e)
	return t, err
}
