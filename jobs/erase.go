package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// Forget forgets everything that a pipeline knows about a device which has left the fleet, and returns how long to wait
// before its outputs may be deleted. A job may have read the device while it was in the fleet. It can no longer claim
// the device, because the tracking row stays without anything but a higher fence. A job that has claimed it cannot
// commit; it may still write outputs until its claim ends, and would write those again that are deleted before.
func (p *Pipeline) Forget(ctx context.Context, m schema.Member) (wait time.Duration, err error) {
	err = commit.Retry(ctx, func() error {
		wait, err = p.forget(ctx, m)
		return err
	})
	return wait, err
}

func (p *Pipeline) forget(ctx context.Context, m schema.Member) (time.Duration, error) {
	part := tables.Range{Partitions: tables.Is(m.Month.String()), Rows: tables.Is(string(m.Key()))}
	row := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	op, t, now := tables.Insert(row), tracking.New(), tables.Ticks(0)
	for page, err := range p.tracking().Rows(ctx, tables.Query{Range: part}) { // unlike a Get, it has storage's time
		if errors.Is(err, tables.ErrNoTable) {
			return 0, nil // the pipeline never ran
		}
		if err != nil {
			return 0, err
		}
		if page.Time.IsZero() {
			return 0, tables.ErrNoDate
		}
		now = tables.TicksOf(page.Time)
		for _, e := range page.Rows {
			if t, err = tracking.RowOf(e); t == nil || errors.Is(err, schema.ErrNewer) {
				return 0, err
			}
			op = tables.Replace(row, t.ETag)
		}
	}
	claim := rand.Text()
	op.Entity.Set(schema.TrackFence, tables.Int64(int64(max(t.Fence+1, now))))
	op.Entity.Set(schema.TrackClaim, tables.String(claim))
	op.Entity.Set(schema.TrackCommitted, tables.String(claim))
	wait := time.Duration(0)
	// A row without a checkpoint may be of an earlier call, after which nobody has waited.
	if h := t.Hold; h.Keeps(now) || t.Last == "" && h.Until > now && h.Until <= now.Add(tracking.LongestHold) {
		op.Entity.Set(schema.TrackClaimUntil, tables.DateTime(h.Until))
		wait = time.Duration(h.Until-now) * 100
	}
	schema.SetFormat(&op.Entity, t.Format)
	_, err := p.tracking().Do(ctx, op)
	return wait, err
}
