package model

import (
	"errors"
	"iter"
	"sync/atomic"
	"time"

	"furrow/worker/query"
)

// An Export is a long answer, whose rows are read while they are written.
type Export struct {
	Answer Whole // the JSON object, without its rows; complete when Rows has ended
	Row    any   // of the type of all rows
	Rows   iter.Seq2[any, error]
}

// A paging reads one part of a long answer. It makes rows of records.
type paging[S, R any] struct {
	records iter.Seq2[S, error]
	row     func(S) (row R, wanted bool, err error)
	// next returns the cursor behind a record. nil: the answer has no other parts.
	next func(last S) string
	// full reports whether a part has read enough, beside the limits that all parts have. nil: never.
	full func() bool
	rows *atomic.Int64 // counts what is read of storage; nil: whoever yields or makes rows does
}

// export returns an answer whose part ends with a cursor before the record for which there is no room. It also does so
// where the records end with query.ErrMore.
func (p paging[S, R]) export(answer Whole) Export {
	limit, out := int64(answer.Limits().Limit), answer.Reach()
	return Export{Answer: answer, Row: *new(R), Rows: func(yield func(any, error) bool) {
		var last S
		var skipped query.Skipped
		defer func() {
			out.Unreadable += skipped.N
			if p.rows != nil {
				out.RowsRead = p.rows.Load()
			}
		}()
		n := 0
		for record, err := range query.Readable(p.records, &skipped) {
			if errors.Is(err, query.ErrMore) || err == nil && p.next != nil && (out.Count == limit || n == maxRead ||
				n > 0 && (out.Ends() || p.full != nil && p.full())) {
				out.Next = p.next(last)
				return
			}
			var row R
			wanted := false
			if err == nil {
				row, wanted, err = p.row(record)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if n, last = n+1, record; !wanted {
				continue
			}
			if out.Count++; !yield(row, nil) {
				return
			}
		}
	}}
}

// A Part is one part of a long answer, as it is asked for.
type Part struct {
	After string `query:"after"` // Next of the part before
	Limit int    `query:"limit"`
	// Asked is what determines the answer, without limit and after. Times in it may be relative to now, so each part of
	// an answer has the span of its first.
	Asked string
}

// A Whole is an answer with Bounds and an Extent.
type Whole interface {
	Limits() *Bounds
	Reach() *Extent
}

// Bounds are what limits an answer, as it was understood.
type Bounds struct {
	From  *time.Time `json:"from,omitempty"` // Start of the span (inclusive). Absent for newest.
	To    *time.Time `json:"to,omitempty"`   // End of the span (exclusive). Absent for newest.
	Limit int        `json:"limit"`          // most rows that the answer can have
}

// Limits returns b.
func (b *Bounds) Limits() *Bounds { return b }

// boundsOf returns those of a span.
func boundsOf(span query.Span, limit int) Bounds {
	return Bounds{new(span.From.Time()), new(span.To.Time()), limit}
}

// An Extent is how far an answer reaches.
type Extent struct {
	Count    int64 `json:"count"`    // rows in the answer
	RowsRead int64 `json:"rowsRead"` // rows of storage that were read for it
	// Cursor of the next part: pass it as after, with the same other parameters. Absent at the end.
	Next string `json:"next,omitempty"`
	// rows that were left out: in an unknown format, or refused by their model
	Unreadable int64 `json:"unreadable,omitempty"`
	Counted

	full  bool
	until time.Time
}

// Reach returns e.
func (e *Extent) Reach() *Extent { return e }

// EndAfter has the answer end with a cursor when it has taken as long, if it has got anywhere.
func (e *Extent) EndAfter(d time.Duration) { e.until = time.Now().Add(d) }

// End has the answer end with a cursor before the next row.
func (e *Extent) End() { e.full = true }

// Ends reports whether the answer is to end.
func (e *Extent) Ends() bool { return e.full || !e.until.IsZero() && time.Now().After(e.until) }

// Counted is part of answers that tell what reading them took.
type Counted struct {
	// storage operations that reading this took, possibly for another request
	Operations int `json:"operations"`
}

// SetOperations notes what an answer took.
func (c *Counted) SetOperations(n int) { c.Operations = n }

// Limits of an answer. Where there is more, it ends with a cursor.
const (
	MaxRows = 1_000_000
	maxRead = 1_000_000 // rows of storage
)
