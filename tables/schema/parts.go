package schema

import (
	"iter"
	"slices"

	"furrow/tables"
)

// LatestOutput and RollupOutput return the RowKey of the output of a part's RowKey. They
// return other texts unchanged.

func LatestOutput(rowKey string) string {
	r, err := ParseLatestRow(rowKey)
	if err != nil {
		return rowKey
	}
	r.Part = 0
	return r.String()
}

func RollupOutput(rowKey string) string {
	r, err := ParseRollupRow(rowKey)
	if err != nil {
		return rowKey
	}
	r.Part = 0
	return r.String()
}

// Joined joins the parts of each output, which come after one another, into one
// entity with the key of the output. It yields an output when the next one begins, and an
// error after the output that was read before it.
func Joined(rows iter.Seq2[tables.Entity, error], output func(rowKey string) string) iter.Seq2[tables.Entity, error] {
	return func(yield func(tables.Entity, error) bool) {
		var whole tables.Entity
		begun := false
		for e, err := range rows {
			if err != nil {
				if begun && !yield(whole, nil) || !yield(tables.Entity{}, err) {
					return
				}
				begun = false
				continue
			}
			key := output(e.RowKey)
			if begun && e.PartitionKey == whole.PartitionKey && key == whole.RowKey {
				whole.Properties = append(slices.Clip(whole.Properties), e.Properties...)
				continue
			}
			if begun && !yield(whole, nil) {
				return
			}
			whole, begun = e, true
			whole.RowKey = key
		}
		if begun {
			yield(whole, nil)
		}
	}
}
