package worker

import (
	"context"
	"time"
)

// look is the longest wait without a look at the clock of the machine.
const look = time.Second

// now is the time of the machine's clock alone, which slots go by.
func (s *Scheduler) now() time.Time {
	if s.Now != nil {
		return s.Now().Round(0)
	}
	return time.Now().Round(0)
}

// A deadline is reached as soon as either clock says so. Go's timers know only the steady one, which stands still while
// a machine is suspended and does not notice when its clock is set. With a deadline in 60 s:
//
//	suspended for an hour: the machine's clock has reached it at the first look
//	set back by an hour:   the steady clock reaches it in 60 s, and not in an hour
type deadline struct {
	steady, wall time.Time
	now          func() time.Time
}

// in returns the deadline in d.
func (s *Scheduler) in(d time.Duration) deadline {
	return deadline{time.Now().Add(d), s.now().Add(d), s.now}
}

// left returns how long it is to the deadline as far as is known.
func (d deadline) left() time.Duration { return min(time.Until(d.steady), d.wall.Sub(d.now())) }

// wait waits for the deadline, or for the end of ctx.
func (d deadline) wait(ctx context.Context) {
	for left := d.left(); left > 0 && ctx.Err() == nil; left = d.left() {
		sleep(ctx, min(left, look))
	}
}
