package notify

import (
	"errors"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// After tripAt failures in a row nothing is sent to a target for a while. Then one message is tried: if it fails, the
// next pause is longer. A receiver can ask for a pause by Retry-After, too.
const (
	tripAt     = 5
	firstPause = 30 * time.Second
	longPause  = 5 * time.Minute
)

// paused reports whether nothing is to be sent now. No pause is longer than a receiver can ask for.
func (c *claim) paused() bool { return c.state.Pause.ComesWithin(maxWait, c.now) }

// countOutcome counts the outcome of a sending.
func (j *job) countOutcome(err error) {
	s := &j.state
	if err == nil {
		if s.Failures >= tripAt { // it answers again, and what waits for it is due
			s.Retry, j.next = j.now, 0
		}
		s.Failures, s.Pause, s.Error, s.Last = 0, 0, "", j.now
		return
	}
	j.result.Failed++
	s.Error = err.Error()
	if _, is := errors.AsType[*gone](err); is {
		s.Off, s.OffAt, j.next = j.target.Kind.String(), j.now, 0
		return
	}
	_, own := errors.AsType[*ownError](err)
	if _, is := errors.AsType[*hopeless](err); own || is {
		return
	}
	if s.Failures++; s.Failures >= tripAt {
		s.Pause = j.now.Add(min(longPause, firstPause<<min(s.Failures-tripAt, 10)))
	}
	if e, is := errors.AsType[*busy](err); is && e.wait > 0 {
		s.Pause = max(s.Pause, j.now.Add(e.wait))
	}
}

// isHopeless reports whether a delivery is not tried again after a failure.
func isHopeless(d schema.Delivery, err error, now tables.Ticks) bool {
	if _, is := errors.AsType[*gone](err); is {
		return false // it is kept until the target is turned on again
	}
	_, is := errors.AsType[*hopeless](err)
	return is || now > d.Found.Add(giveUpAfter) && d.Attempts >= leastAttempts
}

// giveUpAfter is how old a delivery is when a failure is its last. It may have waited as long for the end of a mute, or
// for its repetition, so it has leastAttempts all the same: they take half a day.
const (
	giveUpAfter   = 3 * 24 * time.Hour
	leastAttempts = 20
)
