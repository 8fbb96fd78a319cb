package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"furrow/tables"
)

// every is how often audits of a depth are due.
func (p *Pipeline) every(d Depth) time.Duration {
	if d == Full {
		return cmp.Or(p.FullEvery, 24*time.Hour)
	}
	return cmp.Or(p.ShortEvery, time.Hour)
}

// auditDue is what audits the months of a run are to put: the first run in an
// hour has short ones, the first in a day (in UTC) full ones. It is the same,
// however often a run asks, until a later one has audits of its own.
func (p *Pipeline) auditDue(ctx context.Context, slot, now tables.Ticks) (due Depth, err error) {
	if slot > now.Add(time.Hour) {
		return "", nil // a slot of next year would leave all until then without audits
	}
	for _, d := range []Depth{Short, Full} { // a full one is a short one, too
		mine, err := p.takeAudit(ctx, d, slot)
		if err != nil {
			return "", err
		}
		if mine {
			due = d
		}
	}
	return due, nil
}

// takeAudit tells whether the audits of a depth are this run's to put, and
// remembers that they are. A run older than the one that has put the last ones
// is told no: what it leaves out, that one has audited.
func (p *Pipeline) takeAudit(ctx context.Context, d Depth, slot tables.Ticks) (mine bool, err error) {
	for try := range tries {
		var op tables.Op
		if op, mine, err = p.auditMark(ctx, d, slot); err != nil || op.Kind == 0 {
			return mine, err
		}
		_, err = p.runs().Do(ctx, op)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, tables.ErrExists) && !errors.Is(err, tables.ErrConflict) && !errors.Is(err, tables.ErrNotFound) {
			return false, err // written or not, the next try finds out
		}
		if err := pause(ctx, try); err != nil {
			return false, err
		}
	}
	return false, err
}

// auditMark looks at who has put the last audits of a depth. Where they are due,
// op says so in the name of this run; it is no operation where that is decided.
func (p *Pipeline) auditMark(ctx context.Context, d Depth, slot tables.Ticks) (op tables.Op, mine bool, err error) {
	e, err := tables.AuditMark{Pipeline: p.Name, Depth: string(d), Slot: slot}.Entity()
	if err != nil {
		return op, false, err
	}
	found, err := p.runs().Get(ctx, e.PartitionKey, e.RowKey)
	if errors.Is(err, tables.ErrNotFound) {
		return tables.Insert(e), false, nil
	}
	if err != nil {
		return op, false, err
	}
	last, err := tables.AuditMarkOf(p.Name, found)
	length := max(1, tables.Ticks(p.every(d)/100))
	switch {
	case err != nil:
		return op, false, fmt.Errorf("delete it, so that it is made anew: %w", err)
	case last.Slot == slot:
		return op, true, nil
	case last.Slot > slot, floorTo(last.Slot, length) == floorTo(slot, length):
		return op, false, nil
	}
	return tables.Replace(e, last.ETag), false, nil
}

// auditSpread is over what time the audits of a run are spread, so that they do
// not come all at once.
func (p *Pipeline) auditSpread(d Depth) time.Duration {
	return max(1, min(p.every(d)/6, 10*time.Minute))
}

func (p *Pipeline) auditDelay(d Depth) time.Duration { return rand.N(p.auditSpread(d)) }
