package jobs

import (
	"context"
	"fmt"
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/coverage"
	"furrow/jobs/retain"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Rewound is the record of a rewind on a tracking row.
type Rewound struct {
	To tables.Ticks // fold the readings from here again
	At time.Time
	By string // who asked for it

	// Mark is the ID of the Refold message that the caller puts.
	Mark string
}

func (r Rewound) String() string {
	return fmt.Sprintf("to %s, at %s, by %s", r.To.Time().Format(time.RFC3339), r.At.UTC().Format(time.RFC3339), r.By)
}

// Rewind has a device folded again from a time up to its checkpoint, and reports whether there are such rows. It makes
// the days stale, and an Audit job does the work. The checkpoint stays. A rewind to before the first reading also
// rebuilds what keeps the newest values.
func (p *Pipeline) Rewind(ctx context.Context, m schema.Member, r Rewound) (bool, error) {
	if p.Retention != nil {
		return false, nil // it folds nothing
	}
	first, err := retain.FirstRow(ctx, p.Client, m, tables.Keys{Before: r.To.String()})
	if err != nil {
		return false, err
	}
	rewound := false
	err = edit(ctx, p.tracking(), m.Place(), func(t *tracking.Row, e *tables.Entity) bool {
		w := t.Since(r.To)
		if rewound = t.Last != "" && !w.Empty(); rewound {
			if t.FoldAgain(w, coverage.Rewind); first == "" {
				t.Rebuild(coverage.Rewind)
			}
			t.Stream.Row = "" // the first stale day starts again
			t.SetCoverage(e)
			e.Set(schema.TrackRewound, tables.String(r.String()))
			tracking.Mark{ID: r.Mark, Until: tables.TicksOf(r.At).Add(p.marks())}.SetRefold(e)
		}
		return rewound
	})
	return rewound, err
}

// WouldRewind reports whether Rewind to a time would have rows to fold again.
func (p *Pipeline) WouldRewind(ctx context.Context, m schema.Member, to tables.Ticks) (would bool, err error) {
	err = edit(ctx, p.tracking(), m.Place(), func(t *tracking.Row, _ *tables.Entity) bool {
		would = p.Retention == nil && t.Last != "" && !t.Since(to).Empty()
		return false
	})
	return would, err
}

// Release lets a held device be tried again at once, and reports whether it was held.
func (p *Pipeline) Release(ctx context.Context, at schema.Place) (bool, error) {
	held := false
	err := edit(ctx, p.tracking(), at, func(t *tracking.Row, e *tables.Entity) bool {
		held = t.Attempts > 0
		t.Marks = tracking.Marks{Chain: t.Chain, RefoldMark: t.RefoldMark}
		t.SetMarks(e)
		return held
	})
	return held, err
}

// edit merges a change into a tracking row. It repeats this if others change the row meanwhile. If there is no row, it
// does nothing.
func edit(ctx context.Context, rows *tables.Table, at schema.Place,
	change func(*tracking.Row, *tables.Entity) bool) error {
	return commit.Retry(ctx, func() error {
		found, err := rows.Get(ctx, at.Month.String(), string(at.Key))
		if tables.Absent(err) {
			return nil
		}
		if err != nil {
			return err
		}
		t, err := tracking.RowOf(found)
		if err != nil {
			return err
		}
		e := tables.Entity{PartitionKey: at.Month.String(), RowKey: string(at.Key)}
		if !change(t, &e) {
			return nil
		}
		_, err = rows.Do(ctx, tables.Merge(e, t.ETag))
		return err
	})
}
