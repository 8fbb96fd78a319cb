package query

import (
	"iter"

	"furrow/jobs/fold"
)

// Merge merges sequences of records, as fold.Merge does. Reads go on after rows that are unreadable.
func Merge[R any](compare func(a, b R) int, all ...iter.Seq2[R, error]) iter.Seq2[R, error] {
	return fold.Merge(compare, GoesOn, all...)
}
