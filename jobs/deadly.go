package jobs

import (
	"context"
	"fmt"
)

// deadly is how many workers may end amid the job of a batch: those of one device may take all memory, or panic where
// nothing recovers. Nobody counts an attempt then.
const deadly = 3

// isDeadly tells whether a job must not be tried once more as it is.
func (m Message) isDeadly() bool {
	return m.Deaths > deadly && (m.Kind == Device || m.Kind == Audit)
}

// disarm splits a batch that has ended its workers, and holds a device that was alone with it. Nothing is read of the
// devices' readings.
func (p *Pipeline) disarm(ctx context.Context, m Message, put Putter) (Result, error) {
	b := Batch{First: m.First, Last: m.Last, Mark: m.Mark, Claim: m.Claim}
	if b.alone() {
		return p.blame(ctx, b, fmt.Errorf("its job has ended %d workers, such as for want of memory: see their logs",
			m.Deaths))
	}
	return Result{}, p.split(ctx, m, put)
}
