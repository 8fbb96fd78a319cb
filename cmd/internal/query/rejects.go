package query

import (
	"context"
	"iter"

	"furrow/tables"
)

// A Reject is a row that could not be processed, or not all of it.
type Reject struct {
	Device  tables.DeviceID
	Row     string       // its RowKey, or a digest where no key can be so
	Time    tables.Ticks // of the RowKey; zero where it has none
	Reason  string
	Reading string // the row as text
}

// Rejects are those of the devices that keys name, device after device, the newest
// last. A span leaves out rows whose keys have no time; the zero Span is all.
func (s Source) Rejects(ctx context.Context, ids tables.Keys, span Span, limit int) iter.Seq2[Record, error] {
	if ids == (tables.Keys{}) {
		ids.From = "-" // before all other ids
	}
	part := tables.Range{Partitions: ids}
	if span != (Span{}) {
		part.Rows = tables.Keys{From: span.From.String(), Before: span.To.String()}
	}
	rows := s.rejects().Rows(ctx, tables.Query{Range: part, Size: min(limit, 1000)})
	return limited(func(yield func(Record, error) bool) {
		for e, err := range entities(rows) {
			r, err := rejectOf(e, err)
			if !yield(r, err) || err != nil {
				return
			}
		}
	}, limit)
}

func rejectOf(e tables.Entity, err error) (Reject, error) {
	f := e.Fields()
	r := Reject{Device: tables.DeviceID(e.PartitionKey), Row: e.RowKey, Time: timeOf(e.RowKey), Reason: f.String("Reason"), Reading: f.String("Row")}
	if err == nil {
		err = f.Err()
	}
	return r, err
}
