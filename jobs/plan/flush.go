package plan

import (
	"context"
	"time"

	"furrow/jobs/refold"
	"furrow/tables/schema"
)

// endPartition ends a partition of both kinds of batches.
func (pl *plan) endPartition(ctx context.Context) error {
	if err := pl.folds.endPartition(ctx); err != nil {
		return err
	}
	return pl.audits.endPartition(ctx)
}

// fold puts the device job of a batch. If this job ends before the next save, another one puts it again.
func (pl *plan) fold(ctx context.Context, g group) error {
	pl.at.Batches++
	if pl.sink == nil {
		return nil
	}
	b := Batch{First: g.first, Last: g.last}
	if g.passed > 0 && g.text() <= maxList {
		b.Only, b.Resting = g.devices, g.passed
	}
	pl.unsaved = true
	if err := pl.sink.Fold(ctx, b); err != nil {
		return err
	}
	pl.result.Batches++
	return pl.saveSometimes(ctx)
}

// audit puts the audit of a batch, which looks at those that rest as well.
func (pl *plan) audit(ctx context.Context, g group) error {
	if pl.task.Audit == refold.Late && !pl.auditDue(g) {
		return nil
	}
	pl.at.Audits++
	if pl.sink == nil {
		return nil
	}
	pl.unsaved = true
	if err := pl.sink.Audit(ctx, Batch{First: g.first, Last: g.last}); err != nil {
		return err
	}
	return pl.saveSometimes(ctx)
}

// auditDue reports whether an audit is due in any partition of a batch. The audit itself looks only at devices of
// these.
func (pl *plan) auditDue(g group) bool {
	for month := range pl.figures {
		if month.Compare(g.first.Month) >= 0 && month.Compare(g.last.Month) <= 0 && refold.TurnOf(pl.Pipeline, month,
			pl.task.Since, pl.task.Slot).Due() {
			return true
		}
	}
	return false
}

// saveAfter is a third of a lease, the longest time without a save.
const saveAfter = 10 * time.Second

func (pl *plan) saveSometimes(ctx context.Context) error {
	if time.Since(pl.savedAt) < saveAfter {
		return nil
	}
	return pl.progress(ctx)
}

// progress saves up to which device all are in batches, if any batch has been put since, or the lease needs it: devices
// that rest are as soon passed as read.
func (pl *plan) progress(ctx context.Context) error {
	if pl.sink == nil {
		return nil
	}
	last := pl.seenLast
	for _, b := range []*batches{&pl.folds, &pl.audits} {
		if after, waits := b.waiting(); waits && after.Compare(last) < 0 {
			last = after
		}
	}
	if last == pl.saved || last == (schema.Place{}) || !pl.unsaved && time.Since(pl.savedAt) < saveAfter {
		return nil
	}
	if err := pl.sink.Save(ctx, last); err != nil {
		return err
	}
	pl.saved, pl.savedAt, pl.unsaved = last, time.Now(), false
	return nil
}
