package query

import (
	"context"
	"errors"
	"iter"
	"sync"

	"furrow/tables"
)

// A read is one range of one table.
type read struct {
	table *tables.Table
	query tables.Query
}

// abreast is how many ranges are read at a time. Each holds up to two pages.
const abreast = 8

// ahead reads ranges side by side, and gives their rows one range after the
// other. A table that does not exist has no rows. It ends with the first error.
func ahead(ctx context.Context, reads iter.Seq2[read, error]) iter.Seq2[tables.Entity, error] {
	return func(yield func(tables.Entity, error) bool) {
		reading, stop := context.WithCancel(ctx)
		var under sync.WaitGroup
		defer under.Wait()
		defer stop()
		for lane := range lanes(reading, &under, reads) {
			for e, err := range entities(lane) {
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
		if err := ctx.Err(); err != nil {
			yield(tables.Entity{}, err)
		}
	}
}

// lanes begin to read each range as soon as there is room for it.
func lanes(ctx context.Context, under *sync.WaitGroup, reads iter.Seq2[read, error]) iter.Seq[iter.Seq2[tables.Page, error]] {
	queue := make(chan chan result, abreast-2) // one is taken, one waits to be put
	under.Go(func() {
		defer close(queue)
		for r, err := range reads {
			lane := make(chan result, 1)
			select {
			case queue <- lane:
			case <-ctx.Done():
				return
			}
			if err != nil {
				lane <- result{err: err}
				close(lane)
				return
			}
			under.Go(func() { r.run(ctx, lane) })
		}
	})
	return func(yield func(iter.Seq2[tables.Page, error]) bool) {
		for lane := range queue {
			if !yield(pages(lane)) {
				return
			}
		}
	}
}

type result struct {
	page tables.Page
	err  error
}

func (r read) run(ctx context.Context, lane chan<- result) {
	defer close(lane)
	for page, err := range r.table.Rows(ctx, r.query) {
		if errors.Is(err, tables.ErrNoTable) {
			return
		}
		select {
		case lane <- result{page, err}:
		case <-ctx.Done():
			return
		}
	}
}

func pages(lane <-chan result) iter.Seq2[tables.Page, error] {
	return func(yield func(tables.Page, error) bool) {
		for r := range lane {
			if !yield(r.page, r.err) {
				return
			}
		}
	}
}
