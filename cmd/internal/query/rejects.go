package query

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Reject is a reading that could not be folded, or not all of it.
type Reject struct {
	schema.Reject
	Time  tables.Ticks // of the RowKey; zero where it has none
	Total int64        // how many the pipeline has rejected of the device so far
}

// A RejectTotal says how many readings of one device a pipeline has rejected, and
// how many of them are kept: the newest.
type RejectTotal struct {
	Device   schema.DeviceID
	Pipeline schema.Pipeline
	Rejected int64
	Kept     int64
}

func (t RejectTotal) String() string {
	return fmt.Sprintf("%s, pipeline %s: %d rejected, the newest %d kept", t.Device, t.Pipeline, t.Rejected, t.Kept)
}

// Rejects are those of the devices that ids names, device after device, the newest
// last. A span is one of row keys, as texts; the zero Span is all. Each
// pipeline of a device that has rejected more than it keeps is told to dropped.
func (s Source) Rejects(ctx context.Context, ids tables.Keys, span Span, limit int, dropped func(RejectTotal)) iter.Seq2[Record, error] {
	if ids == (tables.Keys{}) {
		ids.From = "-" // before all other ids
	}
	rows := entities(s.rejects().Rows(ctx, tables.Query{Range: tables.Range{Partitions: ids}}))
	return limited(rings(rows, span, dropped), limit)
}

// TenantRejects are those of the devices of a tenant.
func (s Source) TenantRejects(ctx context.Context, tenant schema.Tenant, span Span, limit int, dropped func(RejectTotal)) iter.Seq2[Record, error] {
	reads := func(yield func(read, error) bool) {
		for m, err := range s.members(ctx, tables.Keys{From: "-"}, 0) {
			if err == nil && m.Tenant != tenant {
				continue
			}
			if !yield(read{s.rejects(), tables.Query{Range: tables.Partition(string(m.Device))}}, err) || err != nil {
				return
			}
		}
	}
	return limited(rings(ahead(ctx, reads), span, dropped), limit)
}

// rings gives the rejects of each device in their order; storage has them by slot.
func rings(rows iter.Seq2[tables.Entity, error], span Span, dropped func(RejectTotal)) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var own []schema.Reject
		flush := func() bool {
			defer func() { own = own[:0] }()
			return yieldRing(yield, own, span, dropped)
		}
		for e, err := range rows {
			var r schema.Reject
			if err == nil {
				r, err = schema.RejectOf(e)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if len(own) > 0 && own[0].Device != r.Device && !flush() {
				return
			}
			own = append(own, r)
		}
		flush()
	}
}

func yieldRing(yield func(Record, error) bool, own []schema.Reject, span Span, dropped func(RejectTotal)) bool {
	totals := RejectTotals(own)
	rejected := map[schema.Pipeline]int64{}
	for _, t := range totals {
		rejected[t.Pipeline] = t.Rejected
		if t.Rejected > t.Kept {
			dropped(t)
		}
	}
	slices.SortFunc(own, func(a, b schema.Reject) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Pipeline, b.Pipeline), cmp.Compare(a.Number, b.Number))
	})
	for _, r := range own {
		if span != (Span{}) && (r.Row < span.From.String() || r.Row >= span.To.String()) {
			continue
		}
		if !yield(Reject{r, timeOf(r.Row), rejected[r.Pipeline]}, nil) {
			return false
		}
	}
	return true
}

// RejectTotals are the totals of one device's rejects, by pipeline.
func RejectTotals(own []schema.Reject) []RejectTotal {
	by := map[schema.Pipeline]RejectTotal{}
	for _, r := range own {
		t := by[r.Pipeline]
		by[r.Pipeline] = RejectTotal{r.Device, r.Pipeline, max(t.Rejected, r.Number+1), t.Kept + 1}
	}
	var totals []RejectTotal
	for _, p := range slices.Sorted(maps.Keys(by)) {
		totals = append(totals, by[p])
	}
	return totals
}
