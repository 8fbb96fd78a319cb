package plan

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"time"

	"furrow/jobs/commit"
	"furrow/tables"
	"furrow/tables/schema"
)

// groups puts the group jobs of a partition that has marks, or that was made with other settings, unless one is under
// way.
func (pl *plan) groups(ctx context.Context, month schema.Month, seen *seenGroups) error {
	if pl.sink == nil {
		return nil
	}
	for _, kind := range slices.Sorted(maps.Keys(pl.Groups)) {
		t, known := seen.turns[kind]
		if pl.at.Waiting += t.Waiting; t.Waiting > 0 {
			pl.at.WaitingLag = max(pl.at.WaitingLag, time.Duration(pl.now-t.Since)*100)
		}
		changed := cmp.Or(t.Settings, noSettings) != pl.Groups[kind]
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
	t.Month, t.Kind, t.ID, t.Until = month, kind, rand.Text(), pl.now.Add(pl.Marks)
	op := tables.Insert(t.Entity())
	if etag != "" {
		op = tables.Replace(t.Entity(), etag)
	}
	if placed, err := commit.Place(ctx, pl.tracking(), op); !placed {
		return err // nil: somebody else has put one
	}
	pl.unsaved = true
	return pl.sink.Group(ctx, month, kind, t.ID)
}
