package model

import (
	"context"
	"errors"
	"iter"
	"sync"

	"furrow/tables"
)

// together runs all of them, and gives what went wrong.
func together(all ...func() error) error {
	failed := make([]error, len(all))
	var running sync.WaitGroup
	for i, do := range all {
		running.Go(func() { failed[i] = do() })
	}
	running.Wait()
	return errors.Join(failed...)
}

// each does something for all numbers below n, a few at a time, until one fails.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan int)
	var lanes sync.WaitGroup
	for range min(n, 2*abreast) {
		lanes.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					stop(err)
				}
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	lanes.Wait()
	return context.Cause(ctx)
}

// rows are the rows of a query, of so many pages at most. A table that does not
// exist has none.
func (s *Store) rows(ctx context.Context, table string, q tables.Query, pages int) iter.Seq2[tables.Entity, error] {
	return s.rowsOrMore(ctx, table, q, pages, new(bool))
}

// rowsOrMore tells, besides, whether there are more pages than it gave.
func (s *Store) rowsOrMore(ctx context.Context, table string, q tables.Query, pages int, more *bool) iter.Seq2[tables.Entity, error] {
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
			if n++; n >= pages {
				*more = page.Next != (tables.Continuation{})
				return
			}
		}
	}
}

// one is an entity, or nothing where there is none.
func (s *Store) one(ctx context.Context, table, pk, rk string) (*tables.Entity, error) {
	e, err := s.table(table).Get(ctx, pk, rk)
	switch {
	case err == nil:
		return &e, nil
	case errors.Is(err, tables.ErrNotFound), errors.Is(err, tables.ErrNoTable):
		return nil, nil
	}
	return nil, err
}
