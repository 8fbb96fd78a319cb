package simulate

import (
	"container/heap"
	"time"
)

// Sendings are what a member hands over of what it measures from one time on, up to
// another but without it, in the order in which it does: with the fleet's dirt. What
// is under way at the end is handed over then. A zero to is no end.
func (f Fleet) Sendings(m Member, from, to time.Time) Stream {
	f = f.filled()
	return func(yield func(Sending) bool) {
		s := &sensing{Fleet: f, member: m, probe: f.probe(m)}
		q := &queue{newestFirst: s.newestFirst()}
		for t := range f.times(m, from, to) {
			for len(q.all) > 0 && q.all[0].Due.Before(t) {
				if !yield(heap.Pop(q).(queued).Sending) {
					return
				}
			}
			r := s.take(t)
			for _, due := range s.due(t) {
				if !to.IsZero() && due.After(to) {
					due = to
				}
				heap.Push(q, queued{Sending{due, r}, q.next})
				q.next++
			}
		}
		for len(q.all) > 0 {
			if !yield(heap.Pop(q).(queued).Sending) {
				return
			}
		}
	}
}

// A queue holds what was measured and is not handed over yet.
type queue struct {
	all         []queued
	next        int
	newestFirst bool // of what is due at the same time
}

type queued struct {
	Sending
	n int
}

func (q *queue) Len() int { return len(q.all) }

func (q *queue) Less(i, j int) bool {
	a, b := q.all[i], q.all[j]
	if !a.Due.Equal(b.Due) {
		return a.Due.Before(b.Due)
	}
	return a.n < b.n != q.newestFirst
}

func (q *queue) Swap(i, j int) { q.all[i], q.all[j] = q.all[j], q.all[i] }
func (q *queue) Push(x any)    { q.all = append(q.all, x.(queued)) }

func (q *queue) Pop() any {
	last := q.all[len(q.all)-1]
	q.all = q.all[:len(q.all)-1]
	return last
}
