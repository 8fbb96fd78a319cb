package worker

import (
	"context"
	"time"
)

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
	if err != nil || n <= l.pool.room.of(l.who) {
		return false
	}
	l.expect()
	return true
}
