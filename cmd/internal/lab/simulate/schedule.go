package simulate

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// A schedule has devices take their turns at their times, so many at the same time.
type schedule struct {
	slots chan struct{}

	mu      sync.Mutex
	coming  events
	earlier chan struct{} // holds a value when something comes before what was the first
}

func newSchedule(slots int) *schedule {
	return &schedule{slots: make(chan struct{}, slots), earlier: make(chan struct{}, 1)}
}

// add schedules a turn.
func (s *schedule) add(at time.Time, l *life) {
	s.mu.Lock()
	defer s.mu.Unlock()
	heap.Push(&s.coming, event{at.UnixNano(), l})
	if s.coming[0].life == l {
		select {
		case s.earlier <- struct{}{}:
		default:
		}
	}
}

// run has turns taken until ctx ends, and returns when all that began are over.
func (s *schedule) run(ctx context.Context, take func(*life)) {
	var taking sync.WaitGroup
	defer taking.Wait()
	for {
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		l := s.next(ctx)
		if l == nil {
			return
		}
		taking.Go(func() {
			take(l)
			<-s.slots
		})
	}
}

// next waits for the next turn; nil: ctx has ended.
func (s *schedule) next(ctx context.Context) *life {
	for {
		wait := time.Hour
		s.mu.Lock()
		if len(s.coming) > 0 {
			wait = time.Until(time.Unix(0, s.coming[0].at))
		}
		var l *life
		if wait <= 0 {
			l = heap.Pop(&s.coming).(event).life
		}
		s.mu.Unlock()
		if ctx.Err() != nil || l != nil {
			return l
		}
		select {
		case <-time.After(wait):
		case <-s.earlier:
		case <-ctx.Done():
		}
	}
}

// left returns how many turns were not taken.
func (s *schedule) left() int { return len(s.coming) }

type event struct {
	at   int64 // nanoseconds since 1970
	life *life
}

// events is a heap.
type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}
