package plan

import (
	"cmp"
	"context"
	"iter"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// trackRows reads a range of the tracking table beside that of the fleet. Both are in the order of their keys, so each
// is read once, page by page.
type trackRows struct {
	next func() (tables.Page, error, bool)
	stop func()
	rows []tables.Entity // remaining rows of the current page
	done bool
	seen map[string]*seenGroups // of the partitions so far
}

// newTrackRows reads the properties that a plan needs. The states would be many times as much.
func newTrackRows(ctx context.Context, table *tables.Table, part tables.Range) *trackRows {
	q := tables.Query{Range: part, Select: append(schema.TrackProperties(), append(schema.GroupTurnProperties(),
		schema.TrackCoverage, schema.TrackSettings, schema.TrackUncut, schema.TrackFence, schema.TrackRest)...)}
	t := &trackRows{}
	t.next, t.stop = iter.Pull2(table.Rows(ctx, q))
	return t
}

// rowOf returns the tracking row with the keys of a row of the fleet, which must come after that of the last call. If
// there is none, the entity has no properties. Rows of devices outside the fleet are skipped.
func (t *trackRows) rowOf(member tables.Entity) (tables.Entity, error) {
	for {
		for len(t.rows) > 0 && compareKeys(t.rows[0], member) < 0 {
			t.noteGroups(t.rows[0])
			t.rows = t.rows[1:]
		}
		switch {
		case len(t.rows) > 0 && compareKeys(t.rows[0], member) == 0:
			return t.rows[0], nil
		case len(t.rows) > 0 || t.done:
			return tables.Entity{}, nil
		}
		page, err, more := t.next()
		if err != nil {
			return tables.Entity{}, err
		}
		t.rows, t.done = page.Rows, !more
	}
}

// noteGroups notes what a row says about the groups of its partition, if it is not that of a device.
func (t *trackRows) noteGroups(e tables.Entity) {
	if strings.HasPrefix(e.RowKey, schema.Separator) {
		if t.seen[e.PartitionKey] == nil {
			t.seen[e.PartitionKey] = &seenGroups{}
		}
		t.seen[e.PartitionKey].noteRow(e)
	}
}

// compareKeys orders entities as storage does.
func compareKeys(a, b tables.Entity) int {
	return cmp.Or(strings.Compare(a.PartitionKey, b.PartitionKey), strings.Compare(a.RowKey, b.RowKey))
}

// seenGroups is what a plan has seen of one partition.
type seenGroups struct {
	turns  map[schema.MarkKind]schema.GroupTurn
	marked map[schema.MarkKind]bool
}

// noteRow notes a row before those of the devices.
func (s *seenGroups) noteRow(e tables.Entity) {
	if s.turns == nil {
		s.turns, s.marked = map[schema.MarkKind]schema.GroupTurn{}, map[schema.MarkKind]bool{}
	}
	if kind, is := schema.MarkKindOf(e.RowKey); is {
		s.marked[kind] = true
	} else if t, is := schema.GroupTurnOf(e); is {
		s.turns[t.Kind] = t
	}
}
