package query

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"furrow/tables"
	"furrow/tables/schema"
)

type read struct {
	table *tables.Table
	query tables.Query
	home  schema.LatestPartition // whose outputs the range has; zero: those of several
	pages int                    // at most; 0: all
	rows  *atomic.Int64          // counts those that were read; may be nil
}

// A source reads the records of a range. It calls afterPage when it has yielded those of a page, and ends if that
// returns false.
type source[R any] func(ctx context.Context, afterPage func(tables.Page) bool) iter.Seq2[R, error]

// atOnce is how many ranges are read at a time. Each holds up to two pages.
const atOnce = 8

// A batch has the next records of a range, or the error that ended it.
type batch[R any] struct {
	records []R
	err     error
}

// inOrder reads ranges concurrently and yields their records one range after the other. The first error ends the read,
// except for an unreadable row or a cut range.
//
// A range is read one page ahead of what is wanted. A search, which leaves out most of what it reads, goes on until it
// has found as much as two pages have.
func inOrder[R any](ctx context.Context, sources iter.Seq2[source[R], error], search bool) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		reading, stop := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer stop()
		lanes := make(chan (<-chan batch[R]), atOnce-2) // one is consumed, one waits to be queued
		running.Go(func() { begin(reading, &running, sources, lanes, search) })
		var none R
		for lane := range lanes {
			for b := range lane {
				for _, r := range b.records {
					if !yield(r, nil) {
						return
					}
				}
				if b.err != nil && (!yield(none, b.err) || !GoesOn(b.err)) {
					return
				}
			}
		}
		if err := ctx.Err(); err != nil {
			yield(none, err)
		}
	}
}

// begin starts reading each range as soon as there is room for it.
func begin[R any](
	ctx context.Context, running *sync.WaitGroup, sources iter.Seq2[source[R], error], lanes chan<- <-chan batch[R],
	search bool,
) {
	defer close(lanes)
	for s, err := range sources {
		lane := make(chan batch[R], 1)
		select {
		case lanes <- lane:
		case <-ctx.Done():
			return
		}
		if err == nil {
			running.Go(func() { s.run(ctx, lane, search) })
			continue
		}
		lane <- batch[R]{err: err}
		close(lane)
		if !GoesOn(err) {
			return
		}
	}
}

// run sends the records of a source page by page.
func (s source[R]) run(ctx context.Context, lane chan<- batch[R], search bool) {
	defer close(lane)
	var found batch[R]
	n, held := 0, 0. // records of this page; what found holds, in pages
	send := func() bool {
		select {
		case lane <- found:
			found, n, held = batch[R]{}, 0, 0
			return true
		case <-ctx.Done():
			return false
		}
	}
	afterPage := func(p tables.Page) bool {
		held += float64(n) / float64(max(1, len(p.Rows)))
		n = 0
		if search && held < 1 && len(lane) == cap(lane) || len(found.records) == 0 {
			return ctx.Err() == nil
		}
		return send()
	}
	for r, err := range s(ctx, afterPage) {
		if err == nil {
			found.records = append(found.records, r)
			n++
			continue
		}
		if found.err = err; !send() || !GoesOn(err) {
			return
		}
	}
	if len(found.records) > 0 {
		send()
	}
}

// entities reads the rows. A table that does not exist has none.
func (r read) entities(ctx context.Context, afterPage func(tables.Page) bool) iter.Seq2[tables.Entity, error] {
	return func(yield func(tables.Entity, error) bool) {
		n := 0
		for page, err := range r.table.Rows(ctx, r.query) {
			if tables.Absent(err) {
				return
			}
			if err != nil {
				yield(tables.Entity{}, err)
				return
			}
			n++
			if r.rows != nil {
				r.rows.Add(int64(len(page.Rows)))
			}
			for _, e := range page.Rows {
				if !yield(e, nil) {
					return
				}
			}
			if n == r.pages && page.Next != (tables.Continuation{}) {
				yield(tables.Entity{}, ErrMore)
			}
			if n == r.pages || !afterPage(page) {
				return
			}
		}
	}
}

// sources are those of reads. Of decodes the rows of one.
func sources[R any](
	reads iter.Seq2[read, error], of func(context.Context, read, iter.Seq2[tables.Entity, error]) iter.Seq2[R, error],
) iter.Seq2[source[R], error] {
	return Mapped(reads, func(r read) source[R] {
		return func(ctx context.Context, afterPage func(tables.Page) bool) iter.Seq2[R, error] {
			return of(ctx, r, r.entities(ctx, afterPage))
		}
	})
}
