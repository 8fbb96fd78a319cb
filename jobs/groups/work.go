package groups

import (
	"context"
	"errors"
	"fmt"

	"furrow/jobs/commit"
	"furrow/tables"
	"furrow/tables/schema"
)

// Worked is what a group job has done.
type Worked struct {
	Made    int              // marks that it has worked off
	Strange map[string]error // marks that it could not read or make, by their keys
	More    bool             // there may be more marks
	Now     tables.Ticks     // of the service
}

// Work makes what the first marks of a kind ask for.
func (s *Source) Work(ctx context.Context, of Grouping, m schema.Month, kind schema.MarkKind) (w Worked, err error) {
	w.Strange = map[string]error{}
	q := tables.Query{Range: schema.Marks(m, kind), Size: mostMarks}
	for page, err := range s.Tracking().Rows(ctx, q) {
		if err != nil {
			return w, err
		}
		if page.Time.IsZero() {
			return w, tables.ErrNoDate
		}
		w.Now = tables.TicksOf(page.Time)
		made, err := makeAll(ctx, of, page, w.Strange)
		if err != nil {
			return w, err
		}
		if len(made) > 0 { // marks that stay come again with the next run
			w.Made, w.More = len(made), page.Next != (tables.Continuation{})
			return w, s.unmark(ctx, made)
		}
	}
	return w, nil
}

// makeAll makes what the marks of a page ask for, and returns what deletes those that it has made.
func makeAll(ctx context.Context, of Grouping, page tables.Page, strange map[string]error) (made []tables.Op,
	err error) {
	for _, e := range page.Rows {
		m, err := schema.MarkOf(e)
		if m.Read = commit.Surely(tables.TicksOf(page.Time), 0); err == nil {
			err = of.Make(ctx, m)
		} else {
			err = fmt.Errorf("%w: %w", ErrUnmakeable, err)
		}
		switch {
		case errors.Is(err, ErrNotYet):
		case errors.Is(err, ErrUnmakeable):
			if len(strange) < mostMarks {
				strange[e.PartitionKey+"/"+e.RowKey] = err
			}
		case err != nil:
			return nil, err
		default:
			made = append(made, tables.Delete(e.PartitionKey, e.RowKey, e.ETag))
		}
	}
	return made, nil
}

// unmark deletes marks on the versions that were read: all at once, or one by one where some have been left again.
func (s *Source) unmark(ctx context.Context, made []tables.Op) error {
	if _, err := s.Tracking().Submit(ctx, made); err == nil {
		return nil
	}
	for _, op := range made {
		if _, err := s.Tracking().Do(ctx, op); err != nil && !commit.IsChanged(err) {
			return err
		}
	}
	return nil
}

// MarkAll marks everything that exists in a partition of the fleet.
func (s *Source) MarkAll(ctx context.Context, of Grouping, m schema.Month) error {
	var marks []*commit.Write
	for mark, err := range of.All(ctx, m) {
		if err != nil {
			return err
		}
		if marks = append(marks, &commit.Write{Op: tables.InsertOrReplace(mark.Entity())}); len(marks) == tables.MaxOps {
			if err := commit.LeaveMarks(ctx, s.Tracking(), marks); err != nil {
				return err
			}
			marks = nil
		}
	}
	return commit.LeaveMarks(ctx, s.Tracking(), marks)
}

// RenewMarks leaves the marks of a kind again that a tenant has in a partition of the fleet. Jobs that are working on
// them cannot delete them then: what they ask for is made once more, from what there is from now on.
func (s *Source) RenewMarks(ctx context.Context, m schema.Month, k schema.MarkKind, t schema.Tenant) error {
	var marks []*commit.Write
	for e, err := range s.Tracking().Entities(ctx, tables.Query{Range: schema.Marks(m, k)}) {
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
	return commit.LeaveMarks(ctx, s.Tracking(), marks)
}

// WithMark leaves a mark, makes what it asks for, and deletes it unless it was left again meanwhile. If it dies, the
// next group job continues.
func (s *Source) WithMark(ctx context.Context, m schema.Mark, make func() error) error {
	left, err := s.Tracking().Do(ctx, tables.InsertOrReplace(m.Entity()))
	if err != nil {
		return err
	}
	if err := make(); err != nil {
		return err
	}
	_, err = s.Tracking().Do(ctx, tables.Delete(m.Month.String(), m.Key(), left.ETags[0]))
	if commit.IsChanged(err) {
		return nil
	}
	return err
}
