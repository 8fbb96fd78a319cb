package worker

import (
	"context"
	"sync"
	"time"
)

// An Early asks schedulers for a run before the next slot. The token endpoint of the same process calls Ask when a
// device gets its first token: its first rows follow, and a person may be waiting for them. A nil Early asks for
// nothing.
type Early struct {
	mu    sync.Mutex
	bells map[chan time.Time]bool
}

// arrival is how long a device may take from its token to its first rows.
const arrival = 2 * time.Second

// Ask asks every scheduler that runs now.
func (e *Early) Ask() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for bell := range e.bells {
		select {
		case <-bell: // only the last one counts
		default:
		}
		select {
		case bell <- time.Now():
		default:
		}
	}
}

// listen returns a channel that receives the time of the last Ask, until stop is called.
func (e *Early) listen() (bell chan time.Time, stop func()) {
	if e == nil {
		return nil, func() {}
	}
	bell = make(chan time.Time, 1)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.bells == nil {
		e.bells = map[chan time.Time]bool{}
	}
	e.bells[bell] = true
	return bell, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.bells, bell)
	}
}

// rest waits until end, the next slot or repair. If Early asks, it does a run as soon as rows of a new device are old
// enough, unless the last slot has them; once at most, so that a fleet that grows all the time has at most twice the
// runs.
func (s *Scheduler) rest(ctx context.Context, bell chan time.Time, end deadline) {
	for began := time.Now(); ctx.Err() == nil && end.left() > 0; {
		select {
		case asked := <-bell:
			run := asked.Add(s.Settle + arrival)
			if !run.After(began) {
				continue
			}
			if time.Until(run) < end.left() {
				s.in(time.Until(run)).wait(ctx)
				s.early(ctx)
			} else {
				select {
				case bell <- asked: // for the next rest
				default:
				}
			}
			end.wait(ctx)
		case <-time.After(min(end.left(), look)):
		case <-ctx.Done():
		}
	}
}

func (s *Scheduler) early(ctx context.Context) {
	if _, _, err := s.step(ctx, slotAt(s.now(), time.Second)); err != nil && ctx.Err() == nil {
		s.log().WarnContext(ctx, "early run could not be scheduled", "pipeline", s.Pipeline, "error", err)
	}
}
