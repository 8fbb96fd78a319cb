// Package live folds what is new: the rows of devices after their checkpoints. It has rows below a checkpoint folded
// again where settings, imports or moves ask for it, or some came late, by making their days stale. It writes nothing.
package live

import (
	"cmp"
	"context"
	"errors"
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/coverage"
	"furrow/jobs/fold"
	"furrow/jobs/folding"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Folder folds the new rows of devices.
type Folder struct {
	Client  *tables.Client
	Clock   commit.Clock
	Late    func(schema.Member) time.Duration // age of the oldest row that a living token of a device admits
	Every   func(schema.Member) time.Duration // stated interval of a device whose model states none; zero: none is
	Cadence time.Duration
	// Steady reports whether runs before a moment show that time passes.
	Steady func(ctx context.Context, at tables.Ticks) (bool, error)
	// Imports reads the notes of imports on a membership.
	Imports func(context.Context, schema.Member) (schema.Imports, error)
	Rester  *Rester       // nil: no process of the fleet may count on it
	Settle  time.Duration // younger rows wait
	Long    time.Duration // a device with a portion of rows that are older is left to a chain
	Portion int           // rows of one device that are folded at a time
	Most    int           // rows that a job folds in all
}

// maxUnread is how many devices of a batch may fail to be read, if none is read, before the failure counts as
// storage's.
const maxUnread = 3

// Do folds device after device until the job has enough, and returns how many it looked at. The horizon is the
// service's time minus the settle time, never this machine's. If the rows of one device cannot be read, only that
// device fails, unless no device can be read.
func (f *Folder) Do(ctx context.Context, work []*folding.Device, now, slot tables.Ticks) (looked int, err error) {
	at := times{now.Add(-f.Settle), f.Clock.Surely(now, 0).Add(-f.Settle), f.Clock.Surely(now, slot).Add(-f.Settle),
		f.Clock.AtMost(now, 0), f.Clock.AtMost(now, slot)}
	rows, weight, bytes, unread := f.Most, folding.MaxWeight, 2*folding.MaxBytes, 0
	for i, d := range work {
		if rows <= 0 || weight <= 0 || bytes <= 0 {
			return i, nil
		}
		if d.Err != nil {
			continue // its tracking row cannot be read
		}
		limits := folding.Limits{Rows: min(f.Portion, rows), Bytes: folding.MaxBytes, Weight: weight, Page: f.Portion}
		err := f.fold(ctx, d, at, limits)
		if ctx.Err() != nil {
			return i, context.Cause(ctx)
		}
		if err != nil {
			d.Unavailable(err)
			if unread++; unread == i+1 && unread == maxUnread {
				return i, err
			}
		}
		rows, weight, bytes = rows-d.Folded, weight-d.Weight, bytes-d.Bytes
	}
	return len(work), nil
}

// fold reads at most so many rows of a device from its checkpoint to the horizon, and folds them page by page, so it
// holds no more than a page. An error of the device concerns no other; an error of reading is the job's.
func (f *Folder) fold(ctx context.Context, d *folding.Device, at times, l folding.Limits) error {
	defer d.Rescue()
	began := time.Now()
	d.Horizon = at.horizon
	heeded, err := heed(d, at)
	if d.Err = err; err != nil {
		return nil
	}
	d.Known = f.known(d, at)
	d.Notes = func(ctx context.Context) (schema.Imports, error) { return f.Imports(ctx, d.Member) }
	var again recount
	if f.Rester != nil {
		again = recountOf(d, at.over.Add(f.Settle), max(f.Cadence, d.Known.Every))
	}
	rows := tables.Range{Partitions: tables.Is(string(d.Member.Device)), Rows: again.rows(d.Row.Unread())}
	rows.Rows.To = at.horizon.String()
	if d.Row.Chain.ID == "" {
		l.Brief = at.horizon.Add(-f.Long)
	}
	readings := f.Client.Table(d.Member.Readings)
	for _, rows.Rows = range parts(d, rows.Rows) {
		err := d.Read(ctx, readings, rows, l)
		if errors.Is(err, folding.ErrFarBehind) {
			d.Behind = true
			d.ClearMarks() // a chain folds all
			return nil
		}
		if err != nil || d.Err != nil {
			return err
		}
		if d.Behind {
			break
		}
	}
	again.end(d)
	d.Row.Reopen()
	d.Dirty = d.Dirty || d.Folded > 0 || heeded
	until := at.horizon
	if d.Behind {
		until = tables.TicksBefore(d.Row.Last)
	}
	if d.Look && d.Err == nil { // an open window without rows of its own may have outputs, too
		d.Err = d.OpenWindows()
	}
	if d.Err == nil {
		d.Err = d.Close(until)
	}
	if d.Err == nil {
		d.ClearMarks()
		forgetAttempts(d, at)
		err = cmp.Or(f.settle(ctx, d, at), f.Rester.rest(ctx, d, at.horizon.Add(f.Settle)))
	}
	if d.Folded > 0 {
		d.Row.Batch = tracking.Batch{Rows: d.Folded, Took: time.Since(began)}
	}
	return err
}

// known returns what is known of a device before its new rows are read. One that has come back to its tenant or to the
// fleet is new.
func (f *Folder) known(d *folding.Device, at times) fold.Known {
	last, spans, since := tables.TicksBefore(d.Row.Last), d.Member.Spans, tables.Ticks(0)
	if len(spans) > 0 {
		since = spans[len(spans)-1].From
	}
	k := fold.Known{Every: d.Model.Every, New: d.Row.Last == d.Row.Left || last < since,
		Ahead: d.Row.Fence > at.horizon.Add(f.Settle+skew)}
	if k.Every == 0 {
		k.Every = f.Every(d.Member)
	}
	if !k.New && !d.Member.Imports.Cover(last) {
		k.Heard = last
	}
	return k
}

// settle seals what lies above the checkpoint of a membership that has ended: all of its rows are folded, and no token
// admits one any more that is as old as its end. With the days below, which audits seal, nothing is left to do then.
func (f *Folder) settle(ctx context.Context, d *folding.Device, at times) error {
	t, ends := d.Row, d.Member.Spans.End()
	known := coverage.Known{At: at.over, Late: f.Late(d.Member)}
	if !d.Ended() || d.Behind || d.Member.Imports.Unknown(t.Imported) || t.Spans.String() != d.Member.Spans.String() ||
		ends > known.At.Add(-known.Late) {
		return nil
	}
	above := t.Coverage.Watermark
	if t.Last != "" {
		above = tables.TicksBefore(t.Last).Floor(tables.Day) + tables.Day
	}
	if t.Last == "" && !t.Coverage.Next().Empty() { // nothing was ever made
		t.Coverage.Made(coverage.Window{To: tables.MaxTicks})
		d.Dirty = true
	}
	if open, _ := t.Coverage.Open(ends); open < above || open >= ends {
		return nil
	}
	steady, err := f.Steady(ctx, at.over)
	if steady {
		t.Coverage.Seal(coverage.Window{From: above, To: ends}, known)
		d.Dirty = true
	}
	return err
}
