package endpoint

import "time"

// A bucket is a rate limit: a burst of requests at once, then one per every. It is the
// generic cell rate algorithm (GCRA): its only state is a time that the caller keeps,
// at which every request that passed is paid for. One time.Time per device is enough.
type bucket struct {
	every time.Duration
	burst int
}

// admit admits one more request and returns the new state, or returns the state unchanged
// and how long the request has to wait.
func (b bucket) admit(paid, now time.Time) (time.Time, time.Duration) {
	next := later(paid, now).Add(b.every)
	if wait := next.Sub(now) - b.full(); wait > 0 {
		return paid, wait
	}
	return next, 0
}

// full is how long an empty bucket takes to refill. Older state can be forgotten.
func (b bucket) full() time.Duration { return time.Duration(b.burst) * b.every }

// left is how many requests may pass at once now.
func (b bucket) left(paid, now time.Time) int {
	return int((b.full() - later(paid, now).Sub(now)) / b.every)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
