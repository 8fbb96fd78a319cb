package query

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"furrow/tables"
	"furrow/tables/schema"
)

func isUnreadable(err error) bool {
	_, is := errors.AsType[*schema.UnreadableError](err)
	return is
}

// GoesOn reports whether a read continues after err.
func GoesOn(err error) bool { return isUnreadable(err) || errors.Is(err, ErrMore) }

// Skipped counts the rows that a read left out because they are unreadable.
type Skipped struct {
	N     int64
	First []error // at most mostNamed of them
}

const mostNamed = 10

// Add counts err if it is a schema.UnreadableError, and reports whether it did. A nil Skipped counts none.
func (s *Skipped) Add(err error) bool {
	if s == nil || !isUnreadable(err) {
		return false
	}
	if s.N++; len(s.First) < mostNamed {
		s.First = append(s.First, err)
	}
	return true
}

// Readable yields the records that can be read, and counts the others in skipped.
func Readable[R any](records iter.Seq2[R, error], skipped *Skipped) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for r, err := range records {
			if !skipped.Add(err) && !yield(r, err) {
				return
			}
		}
	}
}

// Collect returns the records that can be read, and counts the others in skipped; nil: one of these is an error.
func Collect[R any](records iter.Seq2[R, error], skipped *Skipped) (all []R, err error) {
	for r, err := range Readable(records, skipped) {
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// A report says that a property of a row is unreadable, or the whole row for an empty name.
type report func(property string, err error)

// decoded yields the wanted records of the rows of a table, and a schema.UnreadableError for
// everything that decode reports.
func decoded[R any](
	t *tables.Table, rows iter.Seq2[tables.Entity, error], decode func(tables.Entity, report) (r R, wanted bool),
) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		var none R
		for e, err := range rows {
			var failed []error
			r, wanted := none, false
			if err == nil {
				r, wanted = decode(e, func(property string, err error) {
					failed = append(failed, &schema.UnreadableError{
						Table: t.Name, PartitionKey: e.PartitionKey, RowKey: e.RowKey, Property: property, Err: err})
				})
			} else {
				failed = append(failed, err)
			}
			for _, err := range failed {
				if !yield(none, err) || !GoesOn(err) {
					return
				}
			}
			if wanted && !yield(r, nil) {
				return
			}
		}
	}
}

// outputs decodes the outputs of a processor, if this program knows their format and can parse their row keys.
func outputs[K, R any](
	parse func(rowKey string) (K, error), decode func(K, tables.Entity, report) (R, bool),
) func(tables.Entity, report) (R, bool) {
	return func(e tables.Entity, report report) (r R, wanted bool) {
		var row K
		err := schema.CheckFormat(schema.FormatOf(&e))
		if err == nil {
			row, err = parse(e.RowKey)
		}
		if err != nil {
			report("", err)
			return r, false
		}
		return decode(row, e, report)
	}
}

// whole adapts a decoder of package schema, which reads the whole row or fails.
func whole[R any](of func(tables.Entity) (R, error)) func(tables.Entity, report) (R, bool) {
	return func(e tables.Entity, report report) (R, bool) {
		r, err := of(e)
		if err != nil {
			report("", err)
		}
		return r, err == nil
	}
}

// recordsOf yields what of makes of the rows of a table.
func recordsOf[R any](
	ctx context.Context, t *tables.Table, q tables.Query, of func(tables.Entity) (R, error),
) iter.Seq2[R, error] {
	return decoded(t, t.Entities(ctx, q), whole(of))
}

// Limited yields at most limit records; zero means all. Errors do not count.
func Limited[R any](records iter.Seq2[R, error], limit int) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		n := 0
		for r, err := range records {
			if !yield(r, err) {
				return
			}
			if err == nil {
				n++
			}
			if n == cmp.Or(limit, -1) {
				return
			}
		}
	}
}
