package worker

import (
	"context"
	"sync"
	"time"
)

// A lane gets the messages of one queue and runs their jobs.
type lane struct {
	pool    *Pool
	who     int // live or catchup
	get     func(ctx context.Context, n int, lease time.Duration) ([]*Lease, error)
	depth   func(context.Context) (int, error)
	more    <-chan struct{}    // receives when the queue may have new messages, and soon more of them
	put     <-chan struct{}    // receives when it has: this process has put them; may be nil
	slower  time.Duration      // how many times longer than the pool's Idle the longest pause is
	asked   <-chan chan<- bool // receives who wants to know whether the queue is empty
	idle    growing
	until   time.Time // until when messages may become visible
	running *sync.WaitGroup
}

// lanes returns the lanes of live and of catch-up work. The end of any job is a reason to look for live work. For
// catch-up work it is only a message that this process has put.
func (p *Pool) lanes(running *sync.WaitGroup) [2]*lane {
	put, history := p.Source.Fresh()
	return [2]*lane{
		{pool: p, who: live, get: p.Source.Get, depth: p.Source.Depth, more: p.room.ended, put: put,
			asked: p.asks.queueFor(live), running: running, slower: 1, idle: growing{from: shortest}},
		{pool: p, who: catchup, get: p.Source.GetCatchup, depth: p.Source.CatchupDepth, more: history,
			asked: p.asks.queueFor(catchup), running: running, slower: catchupSlower, idle: growing{from: shortest}},
	}
}

// run gets messages and starts their jobs until ctx ends.
func (l *lane) run(ctx context.Context) {
	var asker chan<- bool // of the next look
	for ctx.Err() == nil {
		places := l.pool.room.reserve(l.who, MaxGet)
		if places == 0 {
			received(ctx, l.pool.room.freed[l.who], min(time.Second, recovery/time.Duration(l.pool.Size)))
			continue
		}
		got, err := l.look(ctx, places)
		l.pool.room.settle(l.who, places, len(got))
		for _, lease := range got {
			l.running.Go(func() {
				defer l.pool.room.leave(l.who)
				l.pool.recordResult(l.pool.runJob(ctx, lease))
			})
		}
		if asker != nil {
			asker <- err == nil && len(got) == 0
			asker = nil
		}
		if len(got) > 0 {
			l.idle.reset()
			l.expect()
			continue
		}
		select {
		case asker = <-l.asked: // before what was put: it is about the next look
			continue
		default:
		}
		select {
		case <-l.more:
			l.idle.reset()
			if !l.hasPut() {
				sleep(ctx, l.idle.pause()) // there may be more of them
			}
		case <-l.alone():
			l.idle.reset()
		case asker = <-l.asked:
		case <-time.After(l.pause(ctx)):
		case <-ctx.Done():
		}
	}
}

// hasPut reports whether this process has put messages since the last look, and forgets it.
func (l *lane) hasPut() bool {
	select {
	case <-l.put:
		return true
	default:
		return false
	}
}

// alone receives when this process has put messages while no job runs: the end of a job is a better time to look for
// what it has put.
func (l *lane) alone() <-chan struct{} {
	if l.pool.room.takenBy(l.who) > 0 {
		return nil
	}
	return l.put
}

// look gets messages. A stop does not cancel it at once: messages in an answer that nobody reads would wait for a whole
// lease.
func (l *lane) look(ctx context.Context, n int) ([]*Lease, error) {
	linger, cancel := outliving(ctx, l.pool.Grace)
	defer cancel()
	got, err := l.get(linger, n, l.pool.Lease)
	if err != nil && ctx.Err() == nil {
		l.pool.countBusy(err)
		l.pool.Log.WarnContext(ctx, "messages could not be received", "error", err)
	}
	return got, err
}

// takeover is the pause between two looks, give or take a fifth, while messages may become visible: those of a dead
// worker must be found within five seconds after their leases end.
const takeover = 3500 * time.Millisecond

// pause returns the pause after a look that found nothing. It grows up to the longest idle pause. Before one that is
// too long for a takeover, it asks the queue for its depth, which includes leased and delayed messages. While some of
// those are not this pool's own, the pause stays short. A lease that begins after the question ends after the next
// look, because no pause is longer than a lease.
func (l *lane) pause(ctx context.Context) time.Duration {
	l.idle.to = min(l.slower*l.pool.longestIdle(), max(takeover, l.pool.Lease*5/6))
	d := l.idle.pause()
	if short := jitter(takeover); d > short && l.expects(ctx) {
		return short
	}
	return d
}

// expect notes that there are messages, or were a moment ago.
func (l *lane) expect() { l.until = time.Now().Add(2 * l.pool.Lease) }

// expects reports whether messages may become visible soon. If so, it does not ask again for two leases, because a
// short pause costs less than the question.
func (l *lane) expects(ctx context.Context) bool {
	if time.Now().Before(l.until) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, takeover)
	defer cancel()
	n, err := l.depth(ctx)
	if err != nil || n <= l.pool.room.takenBy(l.who) {
		return false
	}
	l.expect()
	return true
}
