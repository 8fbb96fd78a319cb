package endpoint

import "time"

// A bucket is a rule: Burst requests may pass at once, and one more every Every.
// It holds no state but a time that its user keeps: that at which everything that
// has passed is paid for. (The literature calls it GCRA; it does what a bucket of
// tokens does, and one time for a device is all that has to be remembered.)
type bucket struct {
	every time.Duration
	burst int
}

// pass is when all is paid for if one more passes now; or how long it has to wait,
// and then nothing has changed.
func (b bucket) pass(paid, now time.Time) (time.Time, time.Duration) {
	next := later(paid, now).Add(b.every)
	if wait := next.Sub(now) - b.full(); wait > 0 {
		return paid, wait
	}
	return next, 0
}

// full is how long it takes until a burst is paid for: what passed before that is
// as if it had never been.
func (b bucket) full() time.Duration { return time.Duration(b.burst) * b.every }

// left is how many may pass at once now.
func (b bucket) left(paid, now time.Time) int {
	return int((b.full() - later(paid, now).Sub(now)) / b.every)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
