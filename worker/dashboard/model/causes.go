package model

import (
	"cmp"
	"slices"

	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/query"
)

const maxCauses = 20 // per pipeline

// causes counts why devices are held and messages are poison, the most frequent first.
func causes(held []schema.Track, poisoned []worker.Poisoned) []Cause {
	type cause struct{ what, reason string }
	counts := map[cause]int{}
	for _, h := range held {
		counts[cause{"held", query.General(h.Reason)}]++
	}
	for _, p := range poisoned {
		counts[cause{"poison", query.General(p.Cause)}]++
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
