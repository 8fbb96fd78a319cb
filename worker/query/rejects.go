package query

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Reject is a reading that could not be folded, wholly or in part.
type Reject struct {
	schema.Reject
	Time  tables.Ticks // of the RowKey; zero where it has none
	Total int64        // rejects of the device in the pipeline so far
}

// A RejectTotal counts the readings of a device that a pipeline has rejected, and those
// that it keeps: the newest.
type RejectTotal struct {
	Device   schema.DeviceID
	Pipeline schema.Pipeline
	Rejected int64
	Kept     int64
}

func (t RejectTotal) String() string {
	return fmt.Sprintf("%s, pipeline %s: %d rejected, the newest %d kept", t.Device, t.Pipeline, t.Rejected, t.Kept)
}

// Rejects yields the rejects of the selected devices: device after device, the oldest first.
// The span limits their row keys, compared as texts; the zero Span selects all. Rejects calls
// dropped for each pipeline of a device that has rejected more than it keeps.
func (f Rows) Rejects(
	ctx context.Context, s DeviceSelector, span Span, limit int, dropped func(RejectTotal),
) iter.Seq2[Reject, error] {
	ids, err := s.ids()
	found := f.rejects().Entities(ctx, tables.Query{Range: tables.Range{Partitions: ids}})
	var moved sync.Map // members of the tenant that have belonged to others, by device
	if s.Tenant != "" {
		found = inOrder(ctx, sources(f.rejectRanges(ctx, s, &moved), plain), false)
	}
	return Limited(func(yield func(Reject, error) bool) {
		if err != nil {
			yield(Reject{}, err)
			return
		}
		rejects := decoded(f.rejects(), found, whole(schema.RejectOf))
		rings(selected(rejects, func(r *schema.Reject) (bool, error) {
			m, is := moved.Load(r.Device)
			return !is || Rejected(m.(schema.Member), *r), nil
		}), span, dropped, yield)
	}, limit)
}

// Rejected reports whether a reject is of a membership: of a row of its spans, and in its ring.
func Rejected(m schema.Member, r schema.Reject) bool {
	return len(m.Spans) == 0 || r.Ring == m.Ring() && m.Has(tables.TicksBefore(r.Row))
}

func (f Rows) rejectRanges(ctx context.Context, s DeviceSelector, moved *sync.Map) iter.Seq2[read, error] {
	return Mapped(Devices(f).Members(ctx, s), func(m schema.Member) read {
		if len(m.Spans) > 0 {
			moved.Store(m.Device, m)
		}
		return Question{}.read(f.rejects(), tables.Partition(string(m.Device)))
	})
}

// rings yields the rejects of each device in their order; storage has them by slot.
func rings(
	rejects iter.Seq2[schema.Reject, error], span Span, dropped func(RejectTotal), yield func(Reject, error) bool,
) {
	var own []schema.Reject
	if each(rejects, yield, func(r schema.Reject) bool {
		if len(own) > 0 && own[0].Device != r.Device {
			if !yieldRing(yield, own, span, dropped) {
				return false
			}
			own = own[:0]
		}
		own = append(own, r)
		return true
	}) {
		yieldRing(yield, own, span, dropped)
	}
}

func yieldRing(yield func(Reject, error) bool, own []schema.Reject, span Span, dropped func(RejectTotal)) bool {
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
	rings := lastRings(own)
	seen := map[schema.Reject]bool{} // a job that died before a move may have left a row in a later slot, too
	for _, r := range own {
		same := schema.Reject{Pipeline: r.Pipeline, Row: r.Row}
		if seen[same] || rings[same] != r.Ring {
			continue
		}
		seen[same] = true
		if rows := span.rows(); span != (Span{}) && (r.Row < rows.From || r.Row >= rows.Before) {
			continue
		}
		if !yield(Reject{r, TimeOf(r.Row), rejected[r.Pipeline]}, nil) {
			return false
		}
	}
	return true
}

// lastRings returns the ring that has each reject, by pipeline and row: of those that both tenants of a moved device
// folded, the later one. It takes the rejects in the order of their times.
func lastRings(own []schema.Reject) map[schema.Reject]schema.Tenant {
	rings := map[schema.Reject]schema.Tenant{}
	for _, r := range own {
		rings[schema.Reject{Pipeline: r.Pipeline, Row: r.Row}] = r.Ring
	}
	return rings
}

// RejectTotals sums one device's rejects by pipeline.
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

// A Reason is a reason for rejects, with the number of rows and the last of them.
type Reason struct {
	Count  int64           `json:"count" column:"count"`
	Reason string          `json:"reason" column:"reason"`
	Sensor string          `json:"sensor,omitempty" column:"sensor"`
	Device schema.DeviceID `json:"device" column:"device"`
	Row    string          `json:"row" column:"row"`
}

// mostReasons limits the distinct reasons; all later ones count as "another reason".
const mostReasons = 1000

// General replaces the quoted texts and the numbers in a reason, which differ from row to row.
func General(reason string) string { return particulars.ReplaceAllString(reason, "…") }

var particulars = regexp.MustCompile(`"(?:[^"\\]|\\.)*"…?|'(?:[^'\\]|\\.)*'|\d+`)

// Reasons counts rejects by general reason, the most frequent first. A row with several
// reasons counts for each of them.
func Reasons(rejects iter.Seq2[Reject, error]) iter.Seq2[Reason, error] {
	return func(yield func(Reason, error) bool) {
		counts := map[string]*Reason{}
		if !each(rejects, yield, func(r Reject) bool {
			for _, reason := range kindsOf(r) {
				count(counts, reason, r)
			}
			return true
		}) {
			return
		}
		var all []Reason
		for _, r := range counts {
			all = append(all, *r)
		}
		slices.SortFunc(all, func(a, b Reason) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
		})
		yieldAll(Records(all, nil), yield)
	}
}

// kindsOf returns the general reasons of a reject, each once. If a reject is about sensors,
// its text is "sensor: reason; sensor: reason; and 3 more of its values", perhaps cut short.
// Otherwise it is one reason.
func kindsOf(r Reject) (kinds []string) {
	for _, part := range strings.Split(r.Reason, "; ") {
		sensor, reason, is := strings.Cut(part, ": ")
		switch last := len(kinds) - 1; {
		case r.Sensor != "" && is && !strings.ContainsAny(sensor, ` "`):
			kinds = append(kinds, reason)
		case last < 0:
			kinds = append(kinds, part)
		case r.Sensor == "" || !strings.HasPrefix(part, "and "):
			kinds[last] += "; " + part
		}
	}
	if last := len(kinds) - 1; last > 0 && strings.HasSuffix(kinds[last], "…") && !strings.HasSuffix(kinds[last], `"…`) {
		kinds = kinds[:last]
	}
	for i := range kinds {
		kinds[i] = General(kinds[i])
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

func count(counts map[string]*Reason, reason string, r Reject) {
	if counts[reason] == nil && len(counts) >= mostReasons {
		reason = "another reason"
	}
	if counts[reason] == nil {
		counts[reason] = &Reason{Reason: reason}
	}
	c := counts[reason]
	c.Count, c.Sensor, c.Device, c.Row = c.Count+1, r.Sensor, r.Device, r.Row
}
