package model

import (
	"cmp"
	"regexp"
	"slices"

	"furrow/tables/schema"
	"furrow/worker"
)

const maxCauses = 20 // per pipeline

// quoted matches the quotations in a cause, which differ between devices with the same problem.
const quoted = `"(?:[^"\\]|\\.)*"…?|'(?:[^'\\]|\\.)*'`

// causes counts why devices are held and messages are poison, the most frequent first.
func causes(held []schema.Track, poisoned []worker.Poisoned) []Cause {
	type cause struct{ what, reason string }
	counts, quotations := map[cause]int{}, regexp.MustCompile(quoted)
	for _, h := range held {
		counts[cause{"held", quotations.ReplaceAllString(h.Reason, "…")}]++
	}
	for _, p := range poisoned {
		counts[cause{"poison", quotations.ReplaceAllString(p.Cause, "…")}]++
	}
	all := []Cause{}
	for c, n := range counts {
		all = append(all, Cause{What: c.what, Reason: c.reason, N: n})
	}
	slices.SortFunc(all, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.What, b.What), cmp.Compare(a.Reason, b.Reason))
	})
	return all[:min(len(all), maxCauses)]
}
