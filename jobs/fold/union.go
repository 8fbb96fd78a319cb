package fold

import (
	"iter"
	"slices"
)

// Union yields the records of all sequences in the order of compare, which must be that of each of them. Of equal
// records it yields that of the first sequence that has one. It ends with the first error.
func Union[R any](compare func(a, b R) int, all ...iter.Seq2[R, error]) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		var last R
		any := false
		for r, err := range Merge(compare, func(error) bool { return false }, all...) {
			if (err != nil || !any || compare(last, r) != 0) && !yield(r, err) {
				return
			}
			last, any = r, true
		}
	}
}

// Merge yields the records of sequences in the order of compare, which must be that of each of them. Of equal records,
// that of the earlier sequence comes first. An error is yielded as soon as its sequence has it, and ends all of them,
// unless reads go on after it.
func Merge[R any](
	compare func(a, b R) int, goesOn func(error) bool, all ...iter.Seq2[R, error],
) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		var heads []*head[R]
		for _, one := range all {
			next, stop := iter.Pull2(one)
			defer stop()
			h := &head[R]{next: next, goesOn: goesOn}
			more, goOn := h.advance(yield)
			if !goOn {
				return
			}
			if more {
				heads = append(heads, h)
			}
		}
		for len(heads) > 0 {
			least := slices.MinFunc(heads, func(a, b *head[R]) int { return compare(a.record, b.record) })
			if !yield(least.record, nil) {
				return
			}
			more, goOn := least.advance(yield)
			if !goOn {
				return
			}
			if !more {
				heads = slices.DeleteFunc(heads, func(h *head[R]) bool { return h == least })
			}
		}
	}
}

// A head is the next record of a sequence.
type head[R any] struct {
	record R
	next   func() (R, error, bool)
	goesOn func(error) bool
}

// advance goes to the next record. It reports whether there is one, and whether to go on.
func (h *head[R]) advance(yield func(R, error) bool) (more, goOn bool) {
	for {
		r, err, more := h.next()
		if !more || err == nil {
			h.record = r
			return more, true
		}
		if !yield(r, err) || !h.goesOn(err) {
			return false, false
		}
	}
}
