package jobs

import (
	"context"
	"crypto/rand"
	"errors"
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
func (p *Pipeline) group(ctx context.Context, m Message, put Putter) (r Result, err error) {
	grouping := p.Groups[m.Group]
	if grouping == nil {
		return r, nil // the configuration has changed
	}
	turn, err := p.groupTurn(ctx, m)
	if err != nil || turn.ID != m.Mark {
		return r, err // another job has taken over
	}
	source := p.Source()
	if turn.Settings != grouping.Settings() {
		if err := source.MarkAll(ctx, grouping, m.Month); err != nil {
			return r, fmt.Errorf("marking all of %s again: %w", m.Month, err)
		}
		turn.Settings = grouping.Settings()
	}
	worked, err := source.Work(ctx, grouping, m.Month, m.Group)
	r.Made, r.Strange = worked.Made, worked.Strange
	if err != nil {
		return r, fmt.Errorf("%s of %s: %w", m.Group, m.Month, err)
	}
	next := m.Untried()
	turn.ID, turn.Until, next.Mark = "", 0, rand.Text()
	turn.Waiting, turn.Since = worked.Waiting, worked.Since
	if worked.More {
		turn.ID, turn.Until = next.Mark, worked.Now.Add(p.marks())
	}
	placed, err := commit.Place(ctx, p.tracking(), tables.Replace(turn.Entity(), turn.ETag))
	if !placed || !worked.More { // somebody continues already, or nobody has to
		return r, err
	}
	return r, put.Put(ctx, next, 0)
}

// groupTurn reads who may work on the marks.
func (p *Pipeline) groupTurn(ctx context.Context, m Message) (schema.GroupTurn, error) {
	e, err := p.tracking().Get(ctx, m.Month.String(), schema.GroupKey(m.Group))
	if errors.Is(err, tables.ErrNotFound) || errors.Is(err, tables.ErrNoTable) {
		return schema.GroupTurn{}, nil
	}
	t, _ := schema.GroupTurnOf(e)
	return t, err
}
