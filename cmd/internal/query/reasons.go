package query

import (
	"cmp"
	"furrow/tables/schema"
	"iter"
	"regexp"
	"slices"
)

// A Reason is why rows were rejected, and how many.
type Reason struct {
	Reason string
	Count  int64
	Device schema.DeviceID // of the last of them
	Row    string
}

func (Reason) Columns() []string { return []string{"count", "reason", "device", "row"} }

// Lines of a reason are one.
func (r Reason) Lines() [][]any { return [][]any{{r.Count, r.Reason, string(r.Device), r.Row}} }

func (r Reason) Object() any {
	return struct {
		Count  int64  `json:"count"`
		Reason string `json:"reason"`
		Device string `json:"device"`
		Row    string `json:"row"`
	}{r.Count, r.Reason, string(r.Device), r.Row}
}

// mostReasons is how many are told apart; what comes then counts as another reason.
const mostReasons = 1000

// particulars are what a reason quotes of its row. Rows that are wrong in the
// same way differ in them.
const particulars = `"(?:[^"\\]|\\.)*"…?|'(?:[^'\\]|\\.)*'`

// Reasons counts rejects by reason, the commonest first, whatever the reasons quote.
func Reasons(rejects iter.Seq2[Record, error]) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		counts, quoted := map[string]*Reason{}, regexp.MustCompile(particulars)
		for r, err := range rejects {
			if err != nil {
				yield(nil, err)
				return
			}
			reject := r.(Reject)
			count(counts, quoted.ReplaceAllString(reject.Reason, "…"), reject)
		}
		var all []Reason
		for _, r := range counts {
			all = append(all, *r)
		}
		slices.SortFunc(all, func(a, b Reason) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
		})
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func count(counts map[string]*Reason, reason string, r Reject) {
	if counts[reason] == nil && len(counts) >= mostReasons {
		reason = "another reason"
	}
	if counts[reason] == nil {
		counts[reason] = &Reason{Reason: reason}
	}
	c := counts[reason]
	c.Count, c.Device, c.Row = c.Count+1, r.Device, r.Row
}
