package groups

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"furrow/jobs/commit"
	"furrow/tables"
	"furrow/tables/schema"
)

// Worked is what a group job has done.
type Worked struct {
	Made    int              // marks that it has worked off
	Strange map[string]error // marks that it could not read or make, by their keys
	More    bool             // there may be more marks
	Waiting int64            // makings that marks have asked for and that wait, or cannot be done
	Since   tables.Ticks     // when the first of these marks was left
	Now     tables.Ticks     // of the service
}

// Work makes what the first marks of a kind ask for.
func (s *Source) Work(ctx context.Context, of Grouping, m schema.Month, kind schema.MarkKind) (w Worked, err error) {
	w.Strange = map[string]error{}
	var made []tables.Op // deletes the marks
	for marks, err := range s.marks(ctx, m, kind, &w) {
		if w.Made+len(made) >= mostMarks {
			w.More = true
			w.wait(marks)
			break
		}
		if err == nil {
			err = of.Make(ctx, marks)
		}
		switch {
		case errors.Is(err, ErrWaits):
			w.wait(marks)
		case errors.Is(err, ErrNotYet):
		case errors.Is(err, ErrMade):
			w.strange(marks[0].Month.String()+"/"+marks[0].Key(), err)
			made = append(made, unmarked(marks)...)
		case errors.Is(err, ErrUnmakeable):
			w.wait(marks)
			w.strange(marks[0].Month.String()+"/"+marks[0].Key(), err)
		case err != nil:
			return w, errors.Join(err, s.unmark(ctx, made))
		default:
			made = append(made, unmarked(marks)...)
		}
		if len(made) >= tables.MaxOps {
			w.Made += len(made)
			if err := s.unmark(ctx, made); err != nil {
				return w, err
			}
			made = nil
		}
	}
	w.Made += len(made)
	return w, s.unmark(ctx, made)
}

func unmarked(marks []schema.Mark) (ops []tables.Op) {
	for _, m := range marks {
		ops = append(ops, tables.Delete(m.Month.String(), m.Key(), m.ETag))
	}
	return ops
}

// marks yields the marks of a kind, each time those that are made together. It notes the time of the service, and rows
// that are no marks.
func (s *Source) marks(ctx context.Context, m schema.Month, kind schema.MarkKind, w *Worked) iter.Seq2[[]schema.Mark,
	error] {
	return func(yield func([]schema.Mark, error) bool) {
		var together []schema.Mark
		for page, err := range s.Tracking().DatedRows(ctx, tables.Query{Range: schema.Marks(m, kind)}) {
			if err != nil {
				yield(nil, err)
				return
			}
			w.Now = tables.TicksOf(page.Time)
			for _, e := range page.Rows {
				mark, err := schema.MarkOf(e)
				if err != nil {
					w.strange(e.PartitionKey+"/"+e.RowKey, fmt.Errorf("%w: %w", ErrUnmakeable, err))
					continue
				}
				mark.Read = commit.Clock(nil).Surely(w.Now, 0)
				if len(together) > 0 && (!together[0].Together(mark) || len(together) == mostTogether) {
					if !yield(together, nil) {
						return
					}
					together = nil
				}
				together = append(together, mark)
			}
		}
		if len(together) > 0 {
			yield(together, nil)
		}
	}
}

// wait notes that what marks ask for is not made yet.
func (w *Worked) wait(marks []schema.Mark) {
	for _, m := range marks {
		if w.Since == 0 || m.At < w.Since {
			w.Since = m.At
		}
	}
	w.Waiting++
}

// strange notes a mark that cannot be read or made.
func (w *Worked) strange(key string, err error) {
	if len(w.Strange) < mostMarks {
		w.Strange[key] = err
	}
}

// unmark deletes marks on the versions that were read: many at once, or one by one where some have been left again.
func (s *Source) unmark(ctx context.Context, made []tables.Op) error {
	for ops := range slices.Chunk(made, tables.MaxOps) {
		if _, err := s.Tracking().Submit(ctx, ops); err == nil {
			continue
		}
		for _, op := range ops {
			if _, err := s.Tracking().Do(ctx, op); err != nil && !commit.IsChanged(err) {
				return err
			}
		}
	}
	return nil
}

// MarkAll marks everything that exists in a partition of the fleet.
func (s *Source) MarkAll(ctx context.Context, of Grouping, m schema.Month) error {
	var marks []*commit.Write
	left := map[string]bool{} // in one transaction, which has no row twice
	for mark, err := range of.All(ctx, s, m) {
		if err != nil {
			return err
		}
		if left[mark.Key()] {
			continue
		}
		left[mark.Key()] = true
		if marks = append(marks, &commit.Write{Op: tables.InsertOrReplace(mark.Entity())}); len(marks) == tables.MaxOps {
			if err := commit.LeaveMarks(ctx, s.Tracking(), marks); err != nil {
				return err
			}
			marks = nil
			clear(left)
		}
	}
	return commit.LeaveMarks(ctx, s.Tracking(), marks)
}

// RenewMarks leaves the marks of a kind again that a tenant has in a partition of the fleet. Jobs that are working on
// them cannot delete them then: what they ask for is made once more, from what there is from now on.
func (s *Source) RenewMarks(ctx context.Context, m schema.Month, k schema.MarkKind, t schema.Tenant) error {
	var marks []*commit.Write
	for mark, err := range s.Marks(ctx, m, k) {
		if err != nil {
			return err
		}
		if mark.Tenant == t {
			marks = append(marks, &commit.Write{Op: tables.InsertOrReplace(mark.Entity())})
		}
	}
	return commit.LeaveMarks(ctx, s.Tracking(), marks)
}

// WithMark leaves a mark, makes what it asks for, and deletes it with all others that ask for the same, except those
// that were left again meanwhile. If it dies, the next group job continues.
func (s *Source) WithMark(ctx context.Context, m schema.Mark, make func() error) error {
	if _, err := s.Tracking().Do(ctx, tables.InsertOrReplace(m.Entity())); err != nil {
		return err
	}
	var asked []schema.Mark
	for mark, err := range s.Marks(ctx, m.Month, m.Kind) {
		if err != nil {
			return err
		}
		if mark.Together(m) {
			asked = append(asked, mark)
		}
	}
	if err := make(); err != nil {
		return err
	}
	return s.unmark(ctx, unmarked(asked))
}

// Marks yields the marks of a kind in a partition of the fleet.
func (s *Source) Marks(ctx context.Context, m schema.Month, k schema.MarkKind) iter.Seq2[schema.Mark, error] {
	return func(yield func(schema.Mark, error) bool) {
		for e, err := range s.Tracking().Entities(ctx, tables.Query{Range: schema.Marks(m, k)}) {
			if err != nil {
				yield(schema.Mark{}, err)
				return
			}
			if mark, err := schema.MarkOf(e); err == nil && !yield(mark, nil) {
				return
			}
		}
	}
}

// Tenants yields the tenants with devices in a partition of the fleet, those as well whose devices have left it and
// whose data is kept. Each takes a request.
func (s *Source) Tenants(ctx context.Context, m schema.Month) iter.Seq2[schema.Tenant, error] {
	return func(yield func(schema.Tenant, error) bool) {
		left := tables.Keys{From: tables.KeysWithPrefix(schema.Separator).Before} // after marks
		for {
			t, err := s.firstTenant(ctx, m, left)
			if t == "" && err == nil || !yield(t, err) || err != nil {
				return
			}
			left.From = schema.MembersOf(t).Before
		}
	}
}

// firstTenant returns the tenant of the first device among rows, or none.
func (s *Source) firstTenant(ctx context.Context, m schema.Month, rows tables.Keys) (schema.Tenant, error) {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(m.String()), Rows: rows}, Select: []string{"RowKey"},
		Size: 20}
	for e, err := range s.Tracking().Entities(ctx, q) {
		if err != nil {
			return "", err
		}
		if key, err := schema.ParseMemberKey(e.RowKey); err == nil {
			return key.Tenant(), nil
		}
	}
	return "", nil
}
