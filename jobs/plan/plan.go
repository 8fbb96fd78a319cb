// Package plan goes over the devices of partitions of a fleet, beside their tracking rows, and cuts them into batches.
// It counts what it sees on the way, which is where the figures of a pipeline come from.
package plan

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"furrow/jobs/coverage"
	"furrow/tables"
	"furrow/tables/schema"
)

// Do plans. Repeated, it plans at most those batches twice that were planned since the last save.
func (p *Planner) Do(ctx context.Context, t Task, sink Sink) (Result, error) {
	before := t.Progress
	pl := &plan{Planner: p, task: t, sink: sink, seenLast: before, saved: before, savedAt: time.Now(),
		figures: map[schema.Month]*schema.MonthFigures{}, result: Result{Strange: map[string]error{}}}
	pl.folds = batches{size: p.Size, put: pl.fold}
	pl.audits = batches{size: p.Size, put: pl.audit}
	if err := pl.findPlanned(ctx); err != nil {
		return pl.result, err
	}
	all := tables.Range{Partitions: tables.Keys{From: t.First.String(), To: t.Last.String()}}
	rest := all
	if before != (schema.Place{}) {
		pl.resumed = before.Month
		rest.Partitions.From = before.Month.String()
		if rest.Partitions.From == rest.Partitions.To {
			rest.Rows.After = string(before.Key)
		}
	}
	err := pl.over(ctx, rest, func(at schema.Place) bool { return at.Compare(before) > 0 })
	if err == nil && before != (schema.Place{}) {
		// What was put before is counted after the rest is put, when nothing waits for it. Keeping sums with the progress
		// would take a write for every page of every month, and could not tell what was counted twice.
		pl.sink, pl.resumed, pl.month = nil, schema.Month{}, schema.Month{}
		all.Partitions.To = before.Month.String()
		if all.Partitions.From == all.Partitions.To {
			all.Rows.To = string(before.Key)
		}
		err = pl.over(ctx, all, func(at schema.Place) bool { return at.Compare(before) <= 0 })
	}
	if err == nil && (before != (schema.Place{}) || t.Tried) {
		pl.figuresOf(t.First).Again = 1
	}
	pl.result.Figures = pl.counted()
	return pl.result, err
}

// over goes over the wanted devices of the partitions. The next page fills a batch that one leaves unfilled, and the
// last batch goes as it is.
func (pl *plan) over(ctx context.Context, part tables.Range, wanted func(schema.Place) bool) error {
	tracks := newTrackRows(ctx, pl.tracking(), part)
	defer tracks.stop()
	pl.seen, pl.waiting = map[string]*seenGroups{}, schema.Place{}
	tracks.seen = pl.seen
	members := pl.Client.Table(pl.Names.Fleet())
	for page, err := range members.DatedRows(ctx, tables.Query{Range: part}) {
		if err != nil {
			return err
		}
		pl.now = tables.TicksOf(page.Time)
		for _, e := range page.Rows {
			marks, err := tracks.rowOf(e)
			if err != nil {
				return err
			}
			if err := pl.device(ctx, e, marks, wanted); err != nil {
				return err
			}
		}
		if err := pl.progress(ctx); err != nil {
			return err
		}
	}
	if err := pl.endPartition(ctx); err != nil {
		return err
	}
	for _, b := range []*batches{&pl.folds, &pl.audits} {
		if err := b.flush(ctx, &b.whole); err != nil {
			return err
		}
	}
	return pl.progress(ctx)
}

// device counts a device, and adds it to the batch unless it is held or a job of its own continues with it.
func (pl *plan) device(ctx context.Context, e, track tables.Entity, wanted func(schema.Place) bool) error {
	month, err := schema.ParseMonth(e.PartitionKey)
	if err != nil {
		return nil // between the partitions of a range; the master has reported it
	}
	if month != pl.month {
		if err := pl.endPartition(ctx); err != nil {
			return err
		}
		pl.month, pl.at = month, pl.figuresOf(month)
		pl.folds.cut, pl.audits.cut = month == pl.resumed, month == pl.resumed
		if seen := pl.seen[e.PartitionKey]; month != pl.resumed {
			if err := pl.groups(ctx, month, cmp.Or(seen, &seenGroups{})); err != nil {
				return err
			}
		}
	}
	key, err := schema.ParseMemberKey(e.RowKey)
	place := schema.Place{Month: month, Key: key}
	if err == nil && !wanted(place) {
		return nil
	}
	if m, settled := schema.Settled(e, track); err == nil && settled && pl.done(m, track) {
		return nil
	}
	pl.at.Devices++
	if err != nil {
		pl.at.Failing++
		pl.strange(e.PartitionKey+"/"+e.RowKey, fmt.Errorf("table %s: row %s of %s is not a device; delete it: %w",
			pl.Names.Fleet(), tables.Quote(e.RowKey), month, err))
		return nil
	}
	if tables.Ticks(e.Get(schema.MemberWatermark).Int()) > pl.now {
		pl.at.Ahead++
	}
	due := pl.look(track)
	if due && pl.task.Audit != "" {
		err = pl.audits.add(ctx, place, pl.seenLast)
	}
	if due && err == nil && !pl.task.Extra {
		if pl.rests(e, track) {
			pl.at.Resting++
			pl.folds.passed++
		} else {
			err = pl.folds.add(ctx, place, pl.seenLast)
		}
	}
	pl.seenLast = place
	return err
}

// done reports whether nothing has come up for a membership that was settled, and nothing waits for its time.
func (pl *plan) done(m schema.Member, track tables.Entity) bool {
	settings, _ := pl.Stated(m)
	return track.Get(schema.TrackSettings).Text() == settings && sealed(m, track, pl.Late(m), pl.now)
}

// sealed reports whether tokens admit no row of a membership that has ended, neither now nor at any time since its days
// were sealed, and whether no day is to be made again: a move may have taken days after its end, and attempts may have
// left outputs of them.
func sealed(m schema.Member, track tables.Entity, late time.Duration, now tables.Ticks) bool {
	if m.Spans.End() > now.Add(-late) || attempted(track) {
		return false
	}
	c, err := coverage.Parse(track.Get(schema.TrackCoverage).Binary())
	if err != nil { // older versions have stored none
		return true
	}
	return c.Next().Empty() && c.Repeat.Empty() && !c.Admit(coverage.Known{At: now, Late: late}) &&
		tables.Ticks(track.Get(schema.TrackUncut).Int()) <= tables.TicksBefore(track.Get(schema.TrackCheckpoint).Text())
}

// attempted reports whether the last attempt on a device did not commit. Retention waits until a job has looked at what
// it may have left.
func attempted(track tables.Entity) bool {
	claim := track.Get(schema.TrackClaim).Text()
	return track.Get(schema.TrackFence).Int() > 0 && (claim == "" || claim != track.Get(schema.TrackCommitted).Text())
}

func (pl *plan) figuresOf(month schema.Month) *schema.MonthFigures {
	if pl.figures[month] == nil {
		pl.figures[month] = &schema.MonthFigures{Pipeline: pl.Pipeline, Slot: pl.task.Slot, Month: month}
	}
	return pl.figures[month]
}

// look counts what a tracking row says, and reports whether the device should be in a batch. The device job reports
// rows that cannot be read.
func (pl *plan) look(row tables.Entity) (due bool) {
	if schema.FormatOf(&row) > schema.Format {
		pl.at.Newer++
		return false
	}
	t, err := schema.Track{}, error(nil)
	if row.RowKey != "" {
		t, err = schema.TrackOf(row)
	}
	at, held, behind := pl.at, t.HeldAt(pl.now), t.BehindAt(pl.now)
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
	if behind || t.Waiting {
		at.Behind++
		if t.Checkpoint != "" {
			at.Lag = max(at.Lag, pl.now.Time().Sub(tables.TicksBefore(t.Checkpoint).Time()))
		}
	}
	if pl.task.Extra {
		return !held // an audit takes nothing from the job that continues with the device
	}
	if t.Waiting {
		// The job of the first one finds out whether there are turns for it and others.
		first := pl.waiting == (schema.Place{}) || !pl.waiting.SharesTenant(t.Place)
		if first {
			pl.waiting = t.Place
		}
		return first
	}
	return !held && !behind
}

// strange reports a row that no program wrote. Nothing else waits for it.
func (pl *plan) strange(key string, err error) {
	const most = 100
	if len(pl.result.Strange) < most {
		pl.result.Strange[key] = err
	}
}

// counted returns the figures of the partitions in order.
func (pl *plan) counted() []*schema.MonthFigures {
	return slices.SortedFunc(maps.Values(pl.figures), func(a, b *schema.MonthFigures) int {
		return a.Month.Compare(b.Month)
	})
}
