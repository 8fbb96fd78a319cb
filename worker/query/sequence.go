package query

import (
	"context"
	"furrow/tables"
	"iter"
)

// Records yields records that were read, and then the error that ended it.
func Records[R any](all []R, err error) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
		if err != nil {
			var none R
			yield(none, err)
		}
	}
}

// Mapped yields what of makes of each record.
func Mapped[S, R any](all iter.Seq2[S, error], of func(S) R) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for s, err := range all {
			if !yield(of(s), err) {
				return
			}
		}
	}
}

// plain returns the rows themselves.
func plain(_ context.Context, _ read, rows iter.Seq2[tables.Entity, error]) iter.Seq2[tables.Entity, error] {
	return rows
}

// each calls take with each record until it returns false, or up to an error after which reads do not go on, and
// reports whether to go on. It yields the errors.
func each[S, R any](all iter.Seq2[S, error], yield func(R, error) bool, take func(S) bool) bool {
	var none R
	for s, err := range all {
		if err == nil && !take(s) || err != nil && (!yield(none, err) || !GoesOn(err)) {
			return false
		}
	}
	return true
}

// yieldAll yields records up to an error after which reads do not go on, and reports whether to go on.
func yieldAll[R any](all iter.Seq2[R, error], yield func(R, error) bool) bool {
	return each(all, yield, func(r R) bool { return yield(r, nil) })
}

// selected yields the records that keep wants. It may change them.
func selected[R any](records iter.Seq2[R, error], keep func(*R) (bool, error)) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for r, err := range records {
			kept := err != nil
			if err == nil {
				kept, err = keep(&r)
			}
			if (kept || err != nil) && !yield(r, err) || err != nil && !GoesOn(err) {
				return
			}
		}
	}
}
