package jobs

import (
	"context"
	"fmt"
)

// deadly is how many workers may crash during the job of a batch. A device may need all memory, or cause a panic where
// nothing recovers, and then nobody counts an attempt.
const deadly = 3

// isDeadly reports whether a job must not be tried again as it is.
func (m Message) isDeadly() bool {
	return m.Deaths > deadly && (m.Kind == Device || m.Kind == Audit)
}

// disarm splits a batch that crashed its workers, and holds a device that was alone with it. It reads no readings.
func (p *Pipeline) disarm(ctx context.Context, m Message, put Putter) (Result, error) {
	b := Batch{First: m.First, Last: m.Last, Mark: m.Mark, Claim: m.Claim}
	if b.alone() {
		return p.blame(ctx, b, fmt.Errorf("its job has crashed %d workers, perhaps for lack of memory: see their logs",
			m.Deaths))
	}
	return Result{}, p.split(ctx, m, put)
}
