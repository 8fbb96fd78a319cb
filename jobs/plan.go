package jobs

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A plan puts the devices of one or more partitions into batches, in order, and counts what it sees. It holds one page
// of the members and one of the tracking rows.
type plan struct {
	pipeline *Pipeline
	message  Message // the month job's, with its progress
	put      Putter  // nil if batches are only counted
	save     Save
	saved    Message
	savedAt  time.Time

	now     tables.Ticks // of the service, when the page was read
	month   schema.Month // the current partition
	resumed schema.Month // the partition that an earlier attempt has put in part
	at      *schema.MonthFigures
	figures map[schema.Month]*schema.MonthFigures
	seen    map[string]*seenGroups // by partition
	waiting schema.Place           // first waiting device of its tenant and partition

	whole group // devices of whole partitions before the current one
	part  group // devices of the current partition
	cut   bool  // a batch ends within the current partition, so its rest shares none with the next

	result Result
}

// A group is successive devices.
type group struct {
	first, last schema.Place
	devices     int
}

func (g *group) add(o group) {
	if g.devices == 0 {
		g.first = o.first
	}
	g.last = o.last
	g.devices += o.devices
}

func newPlan(p *Pipeline, m Message, put Putter, save Save) *plan {
	return &plan{pipeline: p, message: m, put: put, save: save, saved: m, savedAt: time.Now(),
		figures: map[schema.Month]*schema.MonthFigures{}, result: Result{Strange: map[string]error{}}}
}

// partitions returns the partitions that a Month message names.
func (m Message) partitions() tables.Range {
	return tables.Range{Partitions: tables.Keys{From: m.Month.String(), To: m.last().String()}}
}

// over goes over the wanted devices of the partitions. The next page fills a batch that one leaves unfilled, and the
// last batch goes as it is.
func (pl *plan) over(ctx context.Context, part tables.Range, wanted func(schema.Place) bool) error {
	tracks := newTrackRows(ctx, pl.pipeline.tracking(), part)
	defer tracks.stop()
	pl.seen, pl.waiting = map[string]*seenGroups{}, schema.Place{}
	tracks.seen = pl.seen
	members := pl.pipeline.Client.Table(pl.pipeline.Names.Fleet())
	for page, err := range members.Rows(ctx, tables.Query{Range: part, Select: []string{"PartitionKey", "RowKey",
		schema.MemberSpans, schema.MemberImports, schema.MemberEnrollment}}) {
		if err != nil {
			return err
		}
		if page.Time.IsZero() {
			return errNoDate
		}
		pl.now = tables.TicksOf(page.Time)
		for _, e := range page.Rows {
			marks, err := tracks.of(e)
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
	if err := pl.end(ctx); err != nil {
		return err
	}
	if err := pl.flush(ctx, &pl.whole); err != nil {
		return err
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
		if err := pl.end(ctx); err != nil {
			return err
		}
		pl.month, pl.cut, pl.at = month, month == pl.resumed, pl.figuresOf(month)
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
	if m, settled := schema.Settled(e, track); err == nil && settled && m.Spans.End() <= pl.now.Add(-pl.pipeline.late(m)) {
		return nil
	}
	pl.at.Devices++
	if err != nil {
		pl.at.Failing++
		pl.result.strange(e.PartitionKey+"/"+e.RowKey, fmt.Errorf("table %s: row %s of %s is not a device; delete it: %w",
			pl.pipeline.Names.Fleet(), tables.Quote(e.RowKey), month, err))
		return nil
	}
	if !pl.look(track) {
		return nil
	}
	pl.part.add(group{place, place, 1})
	if pl.part.devices < pl.pipeline.batch() {
		return nil
	}
	pl.cut = true
	if err := pl.flush(ctx, &pl.whole); err != nil {
		return err
	}
	return pl.flush(ctx, &pl.part)
}

func (pl *plan) figuresOf(month schema.Month) *schema.MonthFigures {
	if pl.figures[month] == nil {
		pl.figures[month] = &schema.MonthFigures{Pipeline: pl.pipeline.Name, Slot: pl.message.Run, Month: month}
	}
	return pl.figures[month]
}

// end ends a partition. Its devices share a batch with the partitions before if all of them fit. A batch over several
// partitions has each of them completely, so that reading it reads nothing else.
func (pl *plan) end(ctx context.Context) error {
	if pl.cut || pl.whole.devices+pl.part.devices > pl.pipeline.batch() {
		if err := pl.flush(ctx, &pl.whole); err != nil {
			return err
		}
	}
	if pl.cut {
		return pl.flush(ctx, &pl.part)
	}
	if pl.part.devices > 0 {
		pl.whole.add(pl.part)
		pl.part = group{}
	}
	return nil
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
	if t.Waiting {
		// The job of the first one finds out whether there are turns for it and others.
		first := pl.waiting == (schema.Place{}) || !sameTenant(pl.waiting, t.Place)
		if first {
			pl.waiting = t.Place
		}
		return first
	}
	return !held && !behind
}

// flush puts a batch, and its audit after it. If this job ends before the next save, another one puts both again.
func (pl *plan) flush(ctx context.Context, g *group) error {
	if g.devices == 0 {
		return nil
	}
	from := pl.message
	m := Message{Kind: Device, Pipeline: from.Pipeline, Run: from.Run, Generation: from.Generation, First: g.first,
		Last: g.last}
	audits := from.Audit != "" && (from.Audit != Late || pl.auditDue(*g))
	*g = group{}
	if !from.Extra {
		pl.at.Batches++
	}
	if audits {
		pl.at.Audits++
	}
	if pl.put == nil {
		return nil
	}
	if !from.Extra {
		if err := pl.put.Put(ctx, m, 0); err != nil {
			return err
		}
		pl.result.Batches++
	}
	if audits {
		m.Kind, m.Audit, m.Since = Audit, from.Audit, from.Since
		if err := pl.put.Put(ctx, m, 0); err != nil {
			return err
		}
	}
	pl.message.Progress = m.Last
	if time.Since(pl.savedAt) < saveAfter {
		return nil
	}
	return pl.progress(ctx)
}

// auditDue reports whether an audit is due in any partition of a batch. The audit itself looks only at devices of
// these.
func (pl *plan) auditDue(g group) bool {
	for month := range pl.figures {
		if month.Compare(g.first.Month) >= 0 && month.Compare(g.last.Month) <= 0 && pl.pipeline.auditTurn(pl.message,
			month).due() {
			return true
		}
	}
	return false
}

// progress saves how far batches were put, if that has changed.
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

// counted returns the figures of the partitions in order.
func (pl *plan) counted() []*schema.MonthFigures {
	return slices.SortedFunc(maps.Values(pl.figures), func(a, b *schema.MonthFigures) int {
		return a.Month.Compare(b.Month)
	})
}
