package worker

import (
	"sync/atomic"
	"time"

	"furrow/jobs"
)

// An Outcome is what became of a message that a pool got.
type Outcome uint8

const (
	OutcomeDone     Outcome = iota + 1 // its job succeeded, and it was deleted
	OutcomeFailed                      // its job failed; it comes again after a pause
	OutcomePoisoned                    // it went to the poison queue
	OutcomeLost                        // its lease was lost: it is another's, or comes again
	OutcomeReleased                    // the pool stopped and gave it back; it counts as not tried
	outcomes
)

func (o Outcome) String() string {
	return [...]string{"none", "done", "failed", "poisoned", "lost", "released"}[o]
}

// A Result is the end of one message's time in a pool.
type Result struct {
	Outcome Outcome
	Message jobs.Message // as last saved; zero where it could not be read
	Took    time.Duration
	Err     error // why it is not done; nil where it is, and where it was released
}

// Outcomes counts results by outcome. The zero Outcomes are ready, and safe for
// concurrent use.
type Outcomes struct{ counts [outcomes]atomic.Int64 }

func (o *Outcomes) count(of Outcome) { o.counts[of].Add(1) }

// Of is how many messages have ended so.
func (o *Outcomes) Of(of Outcome) int64 { return o.counts[of].Load() }
