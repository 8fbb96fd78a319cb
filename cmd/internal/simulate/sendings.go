package simulate

import (
	"container/heap"
	"time"
)

// Sendings returns what a member sends of its readings in [from, to), with the fleet's dirt, in the order in which
// it is due. What would be sent later is due at to. A zero to means no end.
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

// A queue holds readings that are not due yet.
type queue struct {
	all         []queued
	next        int
	newestFirst bool // of those that are due at the same time
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
