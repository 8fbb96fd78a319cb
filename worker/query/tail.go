package query

import (
	"context"
	"iter"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

const hour = tables.Ticks(time.Hour / 100)

// Tail yields the newest readings of the one device of a question, the newest first and at most as many as the
// question's limit. It begins
// in the hour of the pipeline's checkpoint, and goes back in spans that double until there are enough, so it takes two
// requests where that hour has enough readings and at most a page of them. The question's span does not matter.
func (f Rows) Tail(ctx context.Context, p schema.Pipeline, q Question) iter.Seq2[Reading, error] {
	return func(yield func(Reading, error) bool) {
		track, _, err := Progress(f).Track(ctx, p, *q.Scope.device)
		if err != nil && !GoesOn(err) {
			yield(Reading{}, err)
			return
		}
		at := tables.TicksBefore(track.Checkpoint)
		if track.Checkpoint == "" {
			at = tables.TicksOf(time.Now())
		}
		left := q.Limit
		q.Limit, q.Span = 0, Span{From: at - at%hour, To: tables.MaxTicks}
		for length := hour; ; length *= 2 {
			newest, err := f.newest(ctx, q, left)
			for _, r := range slices.Backward(newest) {
				if !yield(r, nil) {
					return
				}
			}
			if err != nil {
				yield(Reading{}, err)
				return
			}
			if left -= len(newest); left == 0 || q.Span.From == 0 {
				return
			}
			q.Span = Span{From: max(0, q.Span.From-length), To: q.Span.From}
		}
	}
}

// Before returns the times of a device's first and last reading before a moment; zero: it has none.
func (f Rows) Before(ctx context.Context, m schema.Member, at tables.Ticks) (first, last tables.Ticks, err error) {
	q := Question{Scope: ScopeOf(m), Span: Span{To: at}, Limit: 1}
	for r, err := range f.Readings(ctx, q) {
		if err != nil {
			return 0, 0, err
		}
		first = r.Time
	}
	q.Limit = 0
	for length := hour; first > 0 && last == 0 && err == nil; length *= 2 {
		q.Span.From = max(first, at-length)
		var newest []Reading
		if newest, err = f.newest(ctx, q, 1); len(newest) > 0 {
			last = newest[0].Time
		}
		q.Span.To = q.Span.From
	}
	return first, last, err
}

// newest returns the last readings of a span, at most so many, the newest last.
func (f Rows) newest(ctx context.Context, q Question, most int) (last []Reading, err error) {
	for r, err := range f.Readings(ctx, q) {
		if err != nil {
			return last, err
		}
		if len(last) == 2*most { // keeps what a long span has from filling memory
			last = append(last[:0], last[most:]...)
		}
		last = append(last, r)
	}
	return last[max(0, len(last)-most):], nil
}
