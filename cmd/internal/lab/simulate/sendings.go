package simulate

import (
	"slices"
	"sort"
	"time"
)

// Sendings returns what a member sends of its readings in [from, to), with the fleet's dirt, in the order in which
// it is due. What would be sent later is due at to. A zero to means no end.
func (f Fleet) Sendings(m Member, from, to time.Time) Stream {
	f = f.filled()
	return func(yield func(Sending) bool) {
		s := &sensing{Fleet: f, member: m, probe: f.probe(m)}
		newestFirst := s.newestFirst()
		var waiting []Sending // in the order in which they are due
		for t := range f.times(m, from, to) {
			for len(waiting) > 0 && waiting[0].Due.Before(t) {
				if !yield(waiting[0]) {
					return
				}
				waiting = waiting[1:]
			}
			r := s.readingAt(t)
			for _, due := range s.due(t) {
				if !to.IsZero() && due.After(to) {
					due = to
				}
				i := sort.Search(len(waiting), func(i int) bool {
					at := waiting[i].Due
					return at.After(due) || newestFirst && at.Equal(due)
				})
				waiting = slices.Insert(waiting, i, Sending{due, r})
			}
		}
		for _, sending := range waiting {
			if !yield(sending) {
				return
			}
		}
	}
}
