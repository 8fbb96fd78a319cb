package jobs

import (
	"context"
	"fmt"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A plan puts the devices of a partition into batches, in their order, and
// counts what it sees on its way. It holds one page of either table.
type plan struct {
	pipeline *Pipeline
	message  Message // the month's, with its progress
	put      Putter  // nil where batches are only counted
	save     func(context.Context, Message) error
	saved    Message
	savedAt  time.Time

	now         tables.Ticks // of the service, with the page
	first, last schema.DeviceID
	filled      int // devices in the batch from first to last

	figures schema.MonthFigures
	result  Result
}

func newPlan(p *Pipeline, m Message, put Putter, save func(context.Context, Message) error) *plan {
	return &plan{pipeline: p, message: m, put: put, save: save, saved: m, savedAt: time.Now(),
		figures: schema.MonthFigures{Pipeline: p.Name, Slot: m.Run, Month: m.Month}, result: Result{Failed: map[schema.DeviceID]error{}}}
}

// over goes over a range of the partition. A batch that a page leaves unfilled
// is filled from the next one; the last goes as it is.
func (pl *plan) over(ctx context.Context, part tables.Range) error {
	tracks := newTrackRows(ctx, pl.pipeline.tracking(), part)
	defer tracks.stop()
	members := pl.pipeline.Client.Table(pl.pipeline.Names.Fleet())
	for page, err := range members.Rows(ctx, tables.Query{Range: part, Select: []string{"RowKey"}}) {
		if err != nil {
			return err
		}
		if page.Time.IsZero() {
			return errNoDate
		}
		pl.now = tables.TicksOf(page.Time)
		for _, e := range page.Rows {
			marks, err := tracks.of(e.RowKey)
			if err != nil {
				return err
			}
			if err := pl.device(ctx, e.RowKey, marks); err != nil {
				return err
			}
		}
		if err := pl.progress(ctx); err != nil {
			return err
		}
	}
	if err := pl.flush(ctx); err != nil {
		return err
	}
	return pl.progress(ctx)
}

// device counts a device, and takes it into the batch unless it is held or a job
// of its own goes on with it.
func (pl *plan) device(ctx context.Context, rowKey string, row tables.Entity) error {
	pl.figures.Devices++
	d, err := schema.ParseDeviceID(rowKey)
	if err != nil {
		pl.figures.Failing++
		pl.result.strange(rowKey, fmt.Errorf("table %s: row %s of %s is no device; delete it: %w",
			pl.pipeline.Names.Fleet(), quote(rowKey), pl.message.Month, err))
		return nil
	}
	if !pl.look(row) {
		return nil
	}
	if pl.filled == 0 {
		pl.first = d
	}
	pl.last = d
	if pl.filled++; pl.filled < pl.pipeline.batch() {
		return nil
	}
	return pl.flush(ctx)
}

// look counts what a tracking row says, and tells whether the device is to be
// in a batch. What cannot be read is for the device job to say.
func (pl *plan) look(row tables.Entity) (due bool) {
	t, err := schema.Track{}, error(nil)
	if row.RowKey != "" {
		t, err = schema.TrackOf(row)
	}
	at, held, behind := &pl.figures, t.HeldUntil > pl.now, t.BehindUntil > pl.now
	at.Rows += t.Rows
	at.Rejects += t.Rejects
	at.Dropped += max(0, t.Rejects-schema.RejectSlots)
	at.Late += t.Late
	if t.Claimed() {
		at.Claimed++
	}
	if t.Refolding {
		at.Refolds++
	}
	if t.Failing() || err != nil {
		at.Failing++
	}
	if held {
		at.Held++
	}
	if behind {
		at.Behind++
		if t.Checkpoint != "" {
			at.Lag = max(at.Lag, pl.now.Time().Sub(TicksBefore(t.Checkpoint).Time()))
		}
	}
	return !held && !behind
}

// flush puts the batch, and its audit after it: whoever goes on where this job
// was ended, before the next save, puts both again.
func (pl *plan) flush(ctx context.Context) error {
	if pl.filled == 0 {
		return nil
	}
	pl.filled = 0
	m := Message{Kind: Device, Pipeline: pl.message.Pipeline, Run: pl.message.Run, Generation: pl.message.Generation, Month: pl.message.Month, First: pl.first, Last: pl.last}
	if !pl.message.Extra {
		pl.figures.Batches++
	}
	if pl.message.Audit != "" {
		pl.figures.Audits++
	}
	if pl.put == nil {
		return nil
	}
	if !pl.message.Extra {
		if err := pl.put.Put(ctx, m, 0); err != nil {
			return err
		}
		pl.result.Batches++
	}
	if pl.message.Audit != "" {
		m.Kind, m.Audit, m.Since = Audit, pl.message.Audit, pl.message.Since
		if err := pl.put.Put(ctx, m, 0); err != nil {
			return err
		}
	}
	pl.message.Progress = pl.last
	if time.Since(pl.savedAt) < saveAfter {
		return nil
	}
	return pl.progress(ctx)
}

// progress saves how far batches were put, where that is further than before.
func (pl *plan) progress(ctx context.Context) error {
	if pl.message == pl.saved {
		return nil
	}
	if err := pl.save(ctx, pl.message); err != nil {
		return err
	}
	pl.saved, pl.savedAt = pl.message, time.Now()
	return nil
}
