package model

import (
	"context"
	"errors"
	"iter"

	"golang.org/x/sync/errgroup"

	"furrow/tables"
)

// concurrency is how many ranges one answer reads at a time.
const concurrency = 8

// each calls do for all numbers below n, several at a time. The first error cancels the others.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrency)
	for i := range n {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}

// rows returns the rows of a query, from at most maxPages pages. A missing table has no rows.
func (s *Store) rows(ctx context.Context, table string, q tables.Query, maxPages int) iter.Seq2[tables.Entity, error] {
	return s.rowsOrMore(ctx, table, q, maxPages, new(bool))
}

// rowsOrMore also sets more when there are further pages.
func (s *Store) rowsOrMore(ctx context.Context, table string, q tables.Query, maxPages int,
	more *bool) iter.Seq2[tables.Entity, error] {
	return func(yield func(tables.Entity, error) bool) {
		n := 0
		for page, err := range s.table(table).Rows(ctx, q) {
			if errors.Is(err, tables.ErrNoTable) {
				return
			}
			if err != nil {
				yield(tables.Entity{}, err)
				return
			}
			for _, e := range page.Rows {
				if !yield(e, nil) {
					return
				}
			}
			if n++; n >= maxPages {
				*more = page.Next != (tables.Continuation{})
				return
			}
		}
	}
}

// allPages lets rows read a range to its end.
const allPages = 1 << 30

// one returns an entity, or nil where there is none.
func (s *Store) one(ctx context.Context, table, pk, rk string) (*tables.Entity, error) {
	e, err := s.table(table).Get(ctx, pk, rk)
	switch {
	case err == nil:
		return &e, nil
	case isMissing(err):
		return nil, nil
	}
	return nil, err
}

func isMissing(err error) bool {
	return errors.Is(err, tables.ErrNoTable) || errors.Is(err, tables.ErrNotFound)
}
