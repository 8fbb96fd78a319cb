package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"furrow/jobs/commit"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Grouping makes what marks of one kind ask for: something over many devices of one partition of the fleet, such as
// the reports of an hour.
//
// A commit leaves a mark (Effect.Mark) after the outputs that it speaks of were written. So whoever reads a mark, and
// those outputs afterwards, sees all that the mark speaks of. A group job reads marks, calls Make, and deletes each
// mark on the version that it read: where an output has changed meanwhile, there is a newer version, and the mark
// stays for the next job. Make must therefore read the version of what it is going to replace before it reads anything
// else, and write on that version: then of two jobs at a time none puts old over new.
type Grouping interface {
	// Settings stand for everything that decides what is made. Where they change, all that exists is marked.
	Settings() string
	// All yields a mark for everything in a partition of the fleet that Make could make.
	All(ctx context.Context, m schema.Month) iter.Seq2[schema.Mark, error]
	// Make makes what a mark asks for. An error that wraps ErrUnmakeable or ErrNotYet concerns this mark alone.
	Make(ctx context.Context, m schema.Mark) error
}

// ErrUnmakeable says that what a mark asks for cannot be made now: a row cannot be read, or another job was faster. The
// mark stays.
var ErrUnmakeable = errors.New("it cannot be made now")

// ErrNotYet says that what a mark asks for is made later, such as the archive of a day that is not over. The mark
// stays.
var ErrNotYet = errors.New("it is not time yet")

// mostMarks is how many marks one group job works off. The next one begins with the rest.
const mostMarks = 100

// group does a group job: it works off the marks of a kind in one partition of the fleet.
func (p *Pipeline) group(ctx context.Context, m Message, put Putter) (Result, error) {
	g := &groupJob{pipeline: p, grouping: p.Groups[m.Group], message: m, result: Result{Strange: map[string]error{}}}
	if g.grouping == nil {
		return g.result, nil // the configuration has changed
	}
	turn, err := g.turn(ctx)
	if err != nil || turn.ID != m.Mark {
		return g.result, err // another job has taken over
	}
	if turn.Settings != g.grouping.Settings() {
		if err := g.markAll(ctx); err != nil {
			return g.result, fmt.Errorf("marking all of %s again: %w", m.Month, err)
		}
		turn.Settings = g.grouping.Settings()
	}
	more, err := g.work(ctx)
	if err != nil {
		return g.result, fmt.Errorf("%s of %s: %w", m.Group, m.Month, err)
	}
	next := m.Untried()
	turn.ID, turn.Until, next.Mark = "", 0, rand.Text()
	if more {
		turn.ID, turn.Until = next.Mark, g.now.Add(p.marks())
	}
	_, err = p.tracking().Do(ctx, tables.Replace(turn.Entity(), turn.ETag))
	switch {
	case commit.IsChanged(err):
		return g.result, nil // somebody continues already
	case err != nil || !more:
		return g.result, err
	}
	return g.result, put.Put(ctx, next, 0)
}

// A groupJob works off marks.
type groupJob struct {
	pipeline *Pipeline
	grouping Grouping
	message  Message
	now      tables.Ticks // of the service
	result   Result
}

// turn reads who may work on the marks.
func (g *groupJob) turn(ctx context.Context) (schema.GroupTurn, error) {
	e, err := g.pipeline.tracking().Get(ctx, g.message.Month.String(), schema.GroupKey(g.message.Group))
	if errors.Is(err, tables.ErrNotFound) || errors.Is(err, tables.ErrNoTable) {
		return schema.GroupTurn{}, nil
	}
	t, _ := schema.GroupTurnOf(e)
	return t, err
}

// markAll marks everything that exists.
func (g *groupJob) markAll(ctx context.Context) error {
	var marks []*commit.Write
	for m, err := range g.grouping.All(ctx, g.message.Month) {
		if err != nil {
			return err
		}
		if marks = append(marks, &commit.Write{Op: tables.InsertOrReplace(m.Entity())}); len(marks) == tables.MaxOps {
			if err := commit.LeaveMarks(ctx, g.pipeline.tracking(), marks); err != nil {
				return err
			}
			marks = nil
		}
	}
	return commit.LeaveMarks(ctx, g.pipeline.tracking(), marks)
}

// work makes what the first marks ask for, and reports whether there are more.
func (g *groupJob) work(ctx context.Context) (more bool, err error) {
	q := tables.Query{Range: schema.Marks(g.message.Month, g.message.Group), Size: mostMarks}
	for page, err := range g.pipeline.tracking().Rows(ctx, q) {
		if err != nil {
			return false, err
		}
		if page.Time.IsZero() {
			return false, errNoDate
		}
		g.now = tables.TicksOf(page.Time)
		made, err := g.make(ctx, page.Rows)
		if err != nil {
			return false, err
		}
		if len(made) > 0 { // marks that stay come again with the next run
			return page.Next != (tables.Continuation{}), g.unmark(ctx, made)
		}
	}
	return false, nil
}

// make makes what marks ask for, and returns those that it has made.
func (g *groupJob) make(ctx context.Context, rows []tables.Entity) (made []tables.Op, err error) {
	for _, e := range rows {
		m, err := schema.MarkOf(e)
		if m.Read = commit.Surely(g.now, 0); err == nil {
			err = g.grouping.Make(ctx, m)
		} else {
			err = fmt.Errorf("%w: %w", ErrUnmakeable, err)
		}
		switch {
		case errors.Is(err, ErrNotYet):
		case errors.Is(err, ErrUnmakeable):
			g.result.strange(e.PartitionKey+"/"+e.RowKey, err)
		case err != nil:
			return nil, err
		default:
			made = append(made, tables.Delete(e.PartitionKey, e.RowKey, e.ETag))
		}
	}
	return made, nil
}

// unmark deletes marks on the versions that were read: all at once, or one by one where some have been left again.
func (g *groupJob) unmark(ctx context.Context, made []tables.Op) error {
	if len(made) == 0 {
		return nil
	}
	g.result.Made = len(made)
	if _, err := g.pipeline.tracking().Submit(ctx, made); err == nil {
		return nil
	}
	for _, op := range made {
		if _, err := g.pipeline.tracking().Do(ctx, op); err != nil && !commit.IsChanged(err) {
			return err
		}
	}
	return nil
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

// RenewMarks leaves the marks of a kind again that a tenant has in a partition of the fleet. Jobs that are working on
// them cannot delete them then: what they ask for is made once more, from what there is from now on.
func (p *Pipeline) RenewMarks(ctx context.Context, m schema.Month, k schema.MarkKind, t schema.Tenant) error {
	var marks []*commit.Write
	for e, err := range p.tracking().Entities(ctx, tables.Query{Range: schema.Marks(m, k)}) {
		if errors.Is(err, tables.ErrNoTable) {
			break
		}
		if err != nil {
			return err
		}
		if mark, err := schema.MarkOf(e); err == nil && mark.Tenant == t {
			marks = append(marks, &commit.Write{Op: tables.InsertOrReplace(mark.Entity())})
		}
	}
	return commit.LeaveMarks(ctx, p.tracking(), marks)
}

// WithMark leaves a mark, makes what it asks for, and deletes it unless it was left again meanwhile. If it dies, the
// next group job continues.
func (p *Pipeline) WithMark(ctx context.Context, m schema.Mark, make func() error) error {
	left, err := p.tracking().Do(ctx, tables.InsertOrReplace(m.Entity()))
	if err != nil {
		return err
	}
	if err := make(); err != nil {
		return err
	}
	_, err = p.tracking().Do(ctx, tables.Delete(m.Month.String(), m.Key(), left.ETags[0]))
	if commit.IsChanged(err) {
		return nil
	}
	return err
}
