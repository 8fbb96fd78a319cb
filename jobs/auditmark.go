package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// auditsDue reports whether a run puts audits, which the first run in every five minutes does, and the slot of the last
// run that did. The answer stays the same, however often a run asks, until a later run has put audits.
func (p *Pipeline) auditsDue(ctx context.Context, slot, now tables.Ticks) (due bool, since tables.Ticks, err error) {
	if slot > now.Add(time.Hour) {
		return false, 0, nil // a slot of next year would prevent audits until then
	}
	for try := range tries {
		mark, op, err := p.auditMark(ctx, slot)
		if err != nil || op.Kind == 0 {
			return mark.Slot == slot && err == nil, mark.Since, err
		}
		_, err = p.runs().Do(ctx, op)
		if err == nil {
			return true, mark.Since, nil
		}
		if !isChanged(err) {
			return false, 0, err // the next try finds out whether it was written
		}
		if err := Pause(ctx, try); err != nil {
			return false, 0, err
		}
	}
	return false, 0, errors.New("the mark of the last audits changes all the time")
}

// auditMark returns the mark as it should be, and the operation that writes it. There is no operation if audits are not
// due, or if this run or a later one has put them.
func (p *Pipeline) auditMark(ctx context.Context, slot tables.Ticks) (next schema.AuditMark, op tables.Op, err error) {
	next = schema.AuditMark{Pipeline: p.Name, Slot: slot}
	e, err := next.Entity()
	if err != nil {
		return next, op, err
	}
	found, err := p.runs().Get(ctx, e.PartitionKey, e.RowKey)
	if errors.Is(err, tables.ErrNotFound) {
		return next, tables.Insert(e), nil
	}
	if err != nil {
		return next, op, err
	}
	last, err := schema.AuditMarkOf(p.Name, found)
	switch {
	case err != nil:
		return next, op, fmt.Errorf("delete the row, and it is created again: %w", err)
	case last.Slot >= slot, floorTo(last.Slot, auditPace) == floorTo(slot, auditPace):
		return last, op, nil
	}
	next.Since = last.Slot
	if e, err = next.Entity(); err != nil {
		return next, op, err
	}
	return next, tables.Replace(e, last.ETag), nil
}
