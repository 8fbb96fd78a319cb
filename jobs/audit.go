package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"furrow/tables"
)

// An auditor looks for rows that came in below the checkpoints of a batch, and
// works off refold cursors.
type auditor struct {
	pipeline *Pipeline
	depth    Depth
	now      tables.Ticks // of the service, when the audit began
	result   Result
	unended  []unended // whose cursors have more to fold
}

// An unended device has more to refold than one job may.
type unended struct {
	device tables.DeviceID
	mark   string
}

// audit does an audit job. What it folds anew is committed device by device and
// window by window; done again, it finds what is left.
func (p *Pipeline) audit(ctx context.Context, m Message, put Putter) (Result, error) {
	a, err := p.auditBatch(ctx, Batch{Month: m.Month, First: m.First, Last: m.Last, Mark: m.Mark, Claim: m.Claim}, m.Audit)
	if err != nil {
		return Result{}, fmt.Errorf("audit of %s to %s of %s: %w", m.First, m.Last, m.Month, err)
	}
	for _, d := range a.unended {
		next := m
		next.Audit, next.First, next.Last, next.Mark, next.Claim, next.Attempts = Refold, d.device, d.device, d.mark, "", 0
		if err := put.Put(ctx, next, 0); err != nil {
			return a.result, err
		}
	}
	m.Attempts = 0
	for _, f := range followUps(m, a.result.Claimed) {
		if err := put.Put(ctx, f.Message, f.Until.Time().Sub(a.now.Time())+time.Second); err != nil {
			return a.result, err
		}
	}
	return a.result, nil
}

func (p *Pipeline) auditBatch(ctx context.Context, b Batch, depth Depth) (*auditor, error) {
	read, err := p.read(ctx, b)
	if err != nil {
		return nil, err
	}
	a := &auditor{pipeline: p, depth: depth, now: read.now, result: Result{Failed: read.strange}}
	for _, d := range read.work {
		a.result.Devices++
		switch {
		case d.err != nil, d.track.last == "", d.track.heldUntil > a.now, d.track.generation > p.Generation, depth == Refold && d.track.refoldMark.id != b.Mark:
			continue // nothing was passed, or nothing can be, or another message works the cursor off
		case d.track.hold.keeps(a.now):
			a.result.Claimed = append(a.result.Claimed, claimed{d.member.Device, d.track.hold.claim, d.track.hold.until})
			continue
		}
		err := a.insist(ctx, d)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			d.unavailable(err)
		}
		if d.err != nil {
			a.result.Failed[d.member.Device] = d.err
		}
	}
	j := &job{pipeline: p, now: a.now, work: read.work}
	return a, j.fail(ctx)
}

// errChanged says that a device's row is not what the audit has read.
var errChanged = errors.New("the tracking row has changed meanwhile")

// insist audits a device, again from its fresh row where another job has moved
// it meanwhile. After some tries it is left to the next audit.
func (a *auditor) insist(ctx context.Context, d *folding) error {
	missing := a.result.Missing
	for try := range tries {
		a.result.Missing = missing
		err := a.device(ctx, d)
		if !errors.Is(err, errChanged) {
			return err
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
		fresh, err := a.pipeline.tracking().Get(ctx, d.member.Month.String(), string(d.member.Device))
		if errors.Is(err, tables.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if d.track, err = trackOf(fresh); err != nil {
			return err
		}
	}
	a.result.Overtaken++
	return nil
}

// device audits one device. Its error is of storage, or errChanged.
func (a *auditor) device(ctx context.Context, d *folding) error {
	if a.depth != Refold {
		if err := a.lateRows(ctx, d); err != nil || d.err != nil {
			return err
		}
	}
	if err := a.workOff(ctx, d); err != nil || d.err != nil {
		return err
	}
	if a.depth == Full {
		return a.drop(ctx, d)
	}
	return nil
}

// lateRows counts what storage has below the checkpoint, and folds the days anew
// in which there is more than the ledger says.
func (a *auditor) lateRows(ctx context.Context, d *folding) error {
	from := d.track.floor
	if a.depth == Short {
		from = max(from, floorTo(a.now.Add(-a.pipeline.shortSpan()), hour))
	}
	counted, err := a.pipeline.count(ctx, d, from)
	if err != nil {
		return err
	}
	late, missing := d.track.ledger.late(counted, from)
	a.result.Missing += int(missing)
	for len(late) > 0 {
		w := window{floorTo(late[0].from, day), floorTo(late[0].from, day) + day}
		var touched []window
		for len(late) > 0 && late[0].from < w.to {
			touched, late = append(touched, late[0]), late[1:]
		}
		if open, err := a.pipeline.openDay(d.track); err != nil {
			d.err = err
			return nil
		} else if w.to > open { // what is open is folded once, with all that is late in it
			touched, late = append(touched, late...), nil
		}
		if err := a.refold(ctx, d, w, touched, d.track.refold); err != nil || d.err != nil {
			return err
		}
	}
	return nil
}

// count counts the rows of a device from a moment up to its checkpoint.
func (p *Pipeline) count(ctx context.Context, d *folding, from tables.Ticks) (*Ledger, error) {
	keys := tables.Keys{To: d.track.last}
	if from > 0 {
		keys.From = from.String()
	}
	counted := &Ledger{}
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(string(d.member.Device)), Rows: keys}, Select: []string{"RowKey"}}
	for page, err := range p.Client.Table(d.member.Readings).Rows(ctx, q) {
		if errors.Is(err, tables.ErrNoTable) {
			return counted, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range page.Rows {
			counted.Add(page.Rows[i].RowKey)
		}
	}
	return counted, nil
}

// workOff moves the refold cursor, day by day, as far as one job may.
func (a *auditor) workOff(ctx context.Context, d *folding) error {
	done := 0
	for !d.track.refold.empty() {
		if done >= a.pipeline.most() {
			a.unended = append(a.unended, unended{d.member.Device, d.track.refoldMark.id})
			return nil
		}
		at, err := a.pipeline.firstRow(ctx, d, d.track.refold.from)
		if err != nil {
			return err
		}
		if at >= d.track.refold.to {
			return a.commit(ctx, d, func(t *track) { t.refold = cursor{} })
		}
		w := window{floorTo(at, day), floorTo(at, day) + day}
		left := cursor{w.to, d.track.refold.to}
		if open, err := a.pipeline.openDay(d.track); err != nil {
			d.err = err
			return nil
		} else if w.to > open {
			left = cursor{}
		}
		if err := a.refold(ctx, d, w, nil, left); err != nil || d.err != nil {
			return err
		}
		done += d.rows
	}
	return nil
}

// firstRow is where the first row lies from a moment up to the checkpoint;
// MaxTicks where there is none.
func (p *Pipeline) firstRow(ctx context.Context, d *folding, from tables.Ticks) (tables.Ticks, error) {
	q := tables.Query{Size: 1, Select: []string{"RowKey"}, Range: tables.Range{
		Partitions: tables.Is(string(d.member.Device)), Rows: tables.Keys{From: from.String(), To: d.track.last}}}
	for page, err := range p.Client.Table(d.member.Readings).Rows(ctx, q) {
		if err != nil && !errors.Is(err, tables.ErrNoTable) {
			return 0, err
		}
		if len(page.Rows) > 0 {
			return TicksBefore(page.Rows[0].RowKey), nil
		}
	}
	return tables.MaxTicks, nil
}

// drop takes the spans out of the ledger in which no living token admits a row
// any more. The audit that has counted them began when that was so already.
func (a *auditor) drop(ctx context.Context, d *folding) error {
	floor := floorTo(a.now.Add(-a.pipeline.late()), day)
	if spans := d.track.ledger.Spans(); len(spans) == 0 || spans[0][1] > floor {
		return nil
	}
	return a.commit(ctx, d, func(t *track) {
		t.ledger.Drop(floor)
		t.floor = max(t.floor, floor)
	})
}

// commit changes a device's row and nothing else.
func (a *auditor) commit(ctx context.Context, d *folding, change func(*track)) error {
	f := newFolding(d.member, d.track.clone())
	change(f.track)
	return a.write(ctx, d, f)
}
