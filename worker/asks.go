package worker

import (
	"context"
	"sync"
)

// Asks are how somebody asks the lanes of a pool whether their queues are empty.
type asks struct {
	once  sync.Once
	lanes [2]chan chan<- bool
	over  chan struct{} // closed when the pool has ended
}

func (a *asks) queueFor(who int) chan chan<- bool {
	a.once.Do(a.open)
	return a.lanes[who]
}

func (a *asks) ended() chan struct{} {
	a.once.Do(a.open)
	return a.over
}

func (a *asks) open() {
	a.over = make(chan struct{})
	for who := range a.lanes {
		a.lanes[who] = make(chan chan<- bool)
	}
}

// Empty looks into both queues, and reports whether there was no message and no job runs. Each look begins after the
// call of Empty: a process that stood still, or a slow answer, is not taken for an empty queue, and neither is a failed
// look. A pool that has ended is empty. The pool must run, or have run.
func (p *Pool) Empty(ctx context.Context) bool {
	for who := range p.asks.lanes {
		answer, empty := make(chan bool, 1), true
		select {
		case p.asks.queueFor(who) <- answer:
			select {
			case empty = <-answer:
			case <-p.asks.ended():
			}
		case <-p.asks.ended():
		case <-ctx.Done():
			return false
		}
		if !empty {
			return false
		}
	}
	return p.InFlight() == 0
}
