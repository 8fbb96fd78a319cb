package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/jobs/commit"
	"furrow/tables"
	"furrow/tables/schema"
)

// auditPace is how often runs check whether audits are due.
const auditPace = tables.Ticks(5 * time.Minute / 100)

// ahead is how far in the future a slot may lie. One that lies further is of a clock that was ahead, and prevents
// nothing.
const ahead = 10 * time.Minute

// auditsDue reports whether a run puts audits, which the first run in every five minutes does, and the slot of the last
// run that did. The answer stays the same, however often a run asks, until a later run has put audits.
func (r runTable) auditsDue(ctx context.Context, slot, now tables.Ticks) (due bool, since tables.Ticks, err error) {
	if slot > now.Add(time.Hour) {
		return false, 0, nil // a slot of next year would prevent audits until then
	}
	err = commit.RetryIf(ctx, commit.Tries, commit.IsChanged, func() error {
		mark, op, err := r.auditMark(ctx, slot, now)
		if since = mark.Since; err == nil && op.Kind != 0 {
			_, err = r.table.Do(ctx, op) // where that fails, the run's next try finds out whether it was written
		}
		due = mark.Slot == slot && err == nil
		return err
	})
	return due, since, err
}

// auditMark returns the mark as it should be, and the operation that writes it. There is no operation if audits are not
// due, or if this run or a later one has put them.
func (r runTable) auditMark(ctx context.Context, slot, now tables.Ticks) (next schema.AuditMark, op tables.Op,
	err error) {
	next = schema.AuditMark{Pipeline: r.pipeline, Slot: slot}
	e, err := next.Entity()
	if err != nil {
		return next, op, err
	}
	found, err := r.table.Get(ctx, e.PartitionKey, e.RowKey)
	if errors.Is(err, tables.ErrNotFound) {
		return next, tables.Insert(e), nil
	}
	if err != nil {
		return next, op, err
	}
	last, err := schema.AuditMarkOf(r.pipeline, found)
	switch {
	case err != nil:
		return next, op, fmt.Errorf("delete the row, and it is created again: %w", err)
	case last.Slot > now.Add(ahead):
		if next.Since = last.Since; next.Since > slot {
			next.Since = slot - tables.Day
		}
	case last.Slot >= slot, last.Slot.Floor(auditPace) == slot.Floor(auditPace):
		return last, op, nil
	default:
		next.Since = last.Slot
	}
	if e, err = next.Entity(); err != nil {
		return next, op, err
	}
	return next, tables.Replace(e, last.ETag), nil
}
