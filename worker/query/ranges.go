package query

import (
	"context"
	"iter"
	"sync"

	"furrow/tables"
)

type read struct {
	table *tables.Table
	query tables.Query
	pages int // at most; 0: all
}

// atOnce is how many ranges are read at a time. Each holds up to two pages.
const atOnce = 8

// A batch has the next rows of a range, or the error that ended it.
type batch struct {
	rows []tables.Entity
	err  error
}

// inOrder reads ranges concurrently and yields their rows one range after the other. A
// table that does not exist has no rows. The first error ends the read, except for an
// unreadable row or a cut range.
func inOrder(ctx context.Context, reads iter.Seq2[read, error]) iter.Seq2[tables.Entity, error] {
	return func(yield func(tables.Entity, error) bool) {
		reading, stop := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer stop()
		lanes := make(chan (<-chan batch), atOnce-2) // one is consumed, one waits to be queued
		running.Go(func() { begin(reading, &running, reads, lanes) })
		for lane := range lanes {
			for b := range lane {
				for _, e := range b.rows {
					if !yield(e, nil) {
						return
					}
				}
				if b.err != nil && (!yield(tables.Entity{}, b.err) || !goesOn(b.err)) {
					return
				}
			}
		}
		if err := ctx.Err(); err != nil {
			yield(tables.Entity{}, err)
		}
	}
}

// begin starts reading each range as soon as there is room for it.
func begin(ctx context.Context, running *sync.WaitGroup, reads iter.Seq2[read, error], lanes chan<- <-chan batch) {
	defer close(lanes)
	for r, err := range reads {
		lane := make(chan batch, 1)
		select {
		case lanes <- lane:
		case <-ctx.Done():
			return
		}
		if err == nil {
			running.Go(func() { r.run(ctx, lane) })
			continue
		}
		lane <- batch{err: err}
		close(lane)
		if !goesOn(err) {
			return
		}
	}
}

func (r read) run(ctx context.Context, lane chan<- batch) {
	defer close(lane)
	n := 0
	for page, err := range r.table.Rows(ctx, r.query) {
		if absent(err) {
			return
		}
		n++
		if last := n == r.pages && page.Next != (tables.Continuation{}); last {
			err = ErrMore
		}
		select {
		case lane <- batch{page.Rows, err}:
		case <-ctx.Done():
			return
		}
		if n == r.pages {
			return
		}
	}
}
