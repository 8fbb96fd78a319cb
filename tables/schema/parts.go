package schema

import (
	"iter"
	"slices"

	"furrow/tables"
)

// LatestOutput, RollupOutput, BucketOutput and ReportOutput return the RowKey of the output of a part's RowKey. They
// return other texts unchanged.

func LatestOutput(rowKey string) string { return outputOf(rowKey, 1, ParseLatestRow) }
func RollupOutput(rowKey string) string { return outputOf(rowKey, 2, ParseRollupRow) }
func BucketOutput(rowKey string) string { return outputOf(rowKey, 2, ParseBucketRow) }
func ReportOutput(rowKey string) string { return outputOf(rowKey, 3, ParseReportRow) }

func outputOf[R any](rowKey string, parts int, parse func(string) (R, error)) string {
	if _, err := parse(rowKey); err != nil {
		return rowKey
	}
	output, _, _ := splitPart(rowKey, parts) // parse has done it
	return output
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
