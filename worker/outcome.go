package worker

import (
	"sync/atomic"
	"time"

	"furrow/jobs"
)

// An Outcome is how a delivery ended.
type Outcome uint8

const (
	OutcomeDone     Outcome = iota + 1 // its job succeeded, and it was deleted
	OutcomeFailed                      // its job failed; it comes again after a pause
	OutcomePoisoned                    // it went to the poison queue
	OutcomeLost                        // its lease was lost: another worker has it, or it comes again
	OutcomeReleased                    // the pool gave it back; this try does not count
	outcomes
)

func (o Outcome) String() string {
	return [...]string{"none", "done", "failed", "poisoned", "lost", "released"}[o]
}

// A Result says how a delivery ended.
type Result struct {
	Outcome Outcome
	Message jobs.Message // as last saved; zero if it could not be read
	Took    time.Duration
	Err     error // why it is not done; nil if it is, or was released
}

// Outcomes counts results by outcome. The zero value is ready, and safe for concurrent use.
type Outcomes struct{ counts [outcomes]atomic.Int64 }

func (o *Outcomes) count(of Outcome) { o.counts[of].Add(1) }

// Of returns how many messages ended with an outcome.
func (o *Outcomes) Of(of Outcome) int64 { return o.counts[of].Load() }
