package endpoint

import "time"

// A retrySchedule tells rejected clients when to retry, each a little later than the one
// before. If all were told the same time, a fleet that boots at once would return at once,
// again and again. It stores no clients: one that returns early, or finds the limit used up
// again, gets a new time at the end.
type retrySchedule struct{ end time.Time }

// maxRetryDelay bounds the schedule. A client beyond it gets the earliest time instead:
// some are then rejected once more, which costs less than devices that stay away for hours.
const maxRetryDelay = 5 * time.Minute

// next returns how long the next client should wait: at least soonest, and at least every
// longer than the client before it.
func (s *retrySchedule) next(now time.Time, soonest, every time.Duration) time.Duration {
	s.end = s.end.Add(every)
	if first := now.Add(soonest); s.end.Before(first) || s.end.Sub(now) > maxRetryDelay {
		s.end = first
	}
	return s.end.Sub(now)
}

// delay is how long the last client still has to wait.
func (s *retrySchedule) delay(now time.Time) time.Duration { return max(0, s.end.Sub(now)) }
