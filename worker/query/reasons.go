package query

import (
	"cmp"
	"iter"
	"regexp"
	"slices"
	"strings"

	"furrow/tables/schema"
)

// A Reason is a reason for rejects, with the number of rows and the last of them.
type Reason struct {
	Reason string
	Count  int64
	Sensor string
	Device schema.DeviceID
	Row    string
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
		for r, err := range rejects {
			if err != nil {
				if !yield(Reason{}, err) || !isUnreadable(err) {
					return
				}
				continue
			}
			for _, reason := range kindsOf(r) {
				count(counts, reason, r)
			}
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
