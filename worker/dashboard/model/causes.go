package model

import (
	"cmp"
	"regexp"
	"slices"

	"furrow/tables/schema"
	"furrow/worker"
)

const mostCauses = 20 // of a pipeline

// particulars are what a cause quotes: what is wrong in the same way differs in them.
const particulars = `"(?:[^"\\]|\\.)*"…?|'(?:[^'\\]|\\.)*'`

// causes counts why devices are held and messages were given up, the commonest first.
func causes(held []schema.Track, poisoned []worker.Poisoned) []Cause {
	type cause struct{ what, reason string }
	counts, quoted := map[cause]int{}, regexp.MustCompile(particulars)
	for _, h := range held {
		counts[cause{"held", quoted.ReplaceAllString(h.Reason, "…")}]++
	}
	for _, p := range poisoned {
		counts[cause{"poison", quoted.ReplaceAllString(p.Cause, "…")}]++
	}
	all := []Cause{}
	for c, n := range counts {
		all = append(all, Cause{What: c.what, Reason: c.reason, N: n})
	}
	slices.SortFunc(all, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.What, b.What), cmp.Compare(a.Reason, b.Reason))
	})
	return all[:min(len(all), mostCauses)]
}
