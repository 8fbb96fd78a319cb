package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"

	"furrow/jobs/commit"
	"furrow/jobs/groups"
	"furrow/tables"
	"furrow/tables/schema"
)

// Source returns the pipeline as groups see it.
func (p *Pipeline) Source() *groups.Source {
	return &groups.Source{Pipeline: p.Name, Client: p.Client, Names: p.Names, ModelOf: p.modelOf, Keep: p.Keep,
		Objects: p.Objects, Settle: p.Settle}
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
	if worked.More {
		turn.ID, turn.Until = next.Mark, worked.Now.Add(p.marks())
	}
	_, err = p.tracking().Do(ctx, tables.Replace(turn.Entity(), turn.ETag))
	switch {
	case commit.IsChanged(err):
		return r, nil // somebody continues already
	case err != nil || !worked.More:
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

// seenGroups is what a plan has seen of one partition.
type seenGroups struct {
	turns  map[schema.MarkKind]schema.GroupTurn
	marked map[schema.MarkKind]bool
}

// see notes a row before those of the devices.
func (s *seenGroups) see(e tables.Entity) {
	if s.turns == nil {
		s.turns, s.marked = map[schema.MarkKind]schema.GroupTurn{}, map[schema.MarkKind]bool{}
	}
	if kind, is := schema.MarkKindOf(e.RowKey); is {
		s.marked[kind] = true
	} else if t, is := schema.GroupTurnOf(e); is {
		s.turns[t.Kind] = t
	}
}

// groups puts the group jobs of a partition that has marks, or that was made with other settings, unless one is under
// way.
func (pl *plan) groups(ctx context.Context, month schema.Month, seen *seenGroups) error {
	if pl.put == nil {
		return nil
	}
	for _, kind := range slices.Sorted(maps.Keys(pl.pipeline.Groups)) {
		t, known := seen.turns[kind]
		changed := cmp.Or(t.Settings, noSettings) != pl.pipeline.Groups[kind].Settings()
		if !seen.marked[kind] && !changed || known && schema.Expected(t.Until, pl.now, schema.LongestMark) {
			continue
		}
		if err := pl.group(ctx, month, kind, t); err != nil {
			return err
		}
	}
	return nil
}

// noSettings are those of a partition that nothing was made of. No Grouping has them.
const noSettings = "-"

// group puts a group job, and marks it as under way.
func (pl *plan) group(ctx context.Context, month schema.Month, kind schema.MarkKind, t schema.GroupTurn) error {
	etag := t.ETag
	t.Month, t.Kind, t.ID, t.Until = month, kind, rand.Text(), pl.now.Add(pl.pipeline.marks())
	op := tables.Insert(t.Entity())
	if etag != "" {
		op = tables.Replace(t.Entity(), etag)
	}
	_, err := pl.pipeline.tracking().Do(ctx, op)
	if commit.IsChanged(err) {
		return nil // somebody else has put one
	}
	if err != nil {
		return err
	}
	m := pl.message.Untried()
	return pl.put.Put(ctx, Message{Kind: Group, Pipeline: m.Pipeline, Run: m.Run, Generation: m.Generation, Month: month,
		Group: kind, Mark: t.ID}, 0)
}
