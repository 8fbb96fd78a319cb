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
	t, now, err := trackNow(ctx, p.tracking(), m)
	if now == 0 || errors.Is(err, schema.ErrNewer) {
		return 0, err
	}
	row := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	op := tables.Insert(row)
	if t.ETag != "" {
		op = tables.Replace(row, t.ETag)
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
	_, err = p.tracking().Do(ctx, op)
	return wait, err
}

// trackNow reads the tracking row of a device, and storage's time, which a Get does not tell. The time is zero if the
// pipeline never ran, or where there is an error of storage. Of a row that cannot be read, there is an error beside it.
func trackNow(ctx context.Context, rows *tables.Table,
	m schema.Member) (t *tracking.Row, now tables.Ticks, err error) {
	own := tables.Range{Partitions: tables.Is(m.Month.String()), Rows: tables.Is(string(m.Key()))}
	t = tracking.New()
	for page, failed := range rows.DatedRows(ctx, tables.Query{Range: own}) {
		if errors.Is(failed, tables.ErrNoTable) {
			return nil, 0, nil
		}
		if failed != nil {
			return nil, 0, failed
		}
		now = tables.TicksOf(page.Time)
		for _, e := range page.Rows {
			t, err = tracking.RowOf(e)
		}
	}
	return t, now, err
}
