package refold

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/folding"
	"furrow/jobs/tracking"
	"furrow/tables"
)

// turnTo audits a device that concerns this message. Its error is the job's.
func (a *auditor) turnTo(ctx context.Context, d *folding.Device) error {
	if !a.concerns(d) {
		return nil
	}
	err := a.insist(ctx, d)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		d.Unavailable(err)
	}
	return nil
}

// serve leaves the device's cursor to another job if its mark may have no message: this job may have died before, or
// fails after a portion.
func (a *auditor) serve(d *folding.Device) {
	if (d.Err != nil || a.task.Tried) && !d.Row.Refold.Empty() && d.Row.RefoldMark.ID != "" {
		a.hand(d)
		a.result.Unended[len(a.result.Unended)-1].Delay = retryAfter
	}
}

// concerns reports whether there is anything to audit on a device, and whether this message should.
func (a *auditor) concerns(d *folding.Device) bool {
	t := d.Row
	if d.Err != nil || t.Last == "" || t.HeldAt(a.now) || !a.mine(d, t) {
		return false
	}
	return a.mark == "" || t.RefoldMark.ID == a.mark // another message works off the cursor
}

// mine reports whether the device was folded under this job's own settings, and in the spans of its membership. Workers
// with other settings audit the others, and after a move the next device job comes first.
func (a *auditor) mine(d *folding.Device, t *tracking.Row) bool {
	_, moved := t.Spans.Differ(d.Member.Spans)
	return t.Settings == d.Model.Settings && t.Generation <= a.Writer.Generation && !moved
}

// errHeld says that another job keeps the device claimed for too long to wait.
var errHeld = errors.New("another job has claimed the device")

// insist audits a device, and repeats that with its fresh row if somebody has refolded it meanwhile. After some tries
// it leaves the device to the next audit, and a claimed one to a follow-up.
func (a *auditor) insist(ctx context.Context, d *folding.Device) error {
	missing := a.result.Missing
	for try := range commit.Tries {
		a.result.Missing = missing
		err := a.device(ctx, d)
		switch {
		case errors.Is(err, errForeign) || d.Err != nil:
			return nil
		case errors.Is(err, errHeld):
			a.later(d)
			return nil
		case !errors.Is(err, errChanged):
			return err
		}
		if err := commit.Pause(ctx, try); err != nil {
			return err
		}
		fresh, err := a.Writer.Tracking().Get(ctx, d.Member.Month.String(), string(d.Member.Key()))
		if errors.Is(err, tables.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if d.Track(fresh); d.Err != nil || !a.concerns(d) {
			return nil
		}
	}
	a.result.Overtaken++
	if a.task.Depth == Refold {
		a.hand(d)
	}
	return nil
}

// later leaves a device to a follow-up when the other job's hold ends.
func (a *auditor) later(d *folding.Device) {
	if a.task.Depth != Refold {
		a.result.Held = append(a.result.Held, d)
		return
	}
	a.hand(d)
	a.result.Unended[len(a.result.Unended)-1].Delay = d.Row.Hold.Until.Time().Sub(a.now.Time()) + time.Second
}

// device audits one device. Its error is of storage, or says why the device is left for now.
func (a *auditor) device(ctx context.Context, d *folding.Device) error {
	full, turn := a.task.Depth == Full, TurnOf(a.Writer.Pipeline, d.Member.Month, a.task.Since, a.task.Slot)
	if a.task.Depth == Refold {
		return a.workOff(ctx, d)
	}
	if err := a.regain(ctx, d); err != nil || d.Err != nil {
		return err
	}
	pending := pending(d)
	spans := []tracking.Window{{From: d.Row.Floor, To: tables.MaxTicks}}
	if !full {
		if spans = turn.spans(); turn.last() {
			spans = append(spans, tracking.Window{From: d.Row.Floor, To: a.floor(d)})
		}
	}
	if d.Member.Imports.Unknown(d.Row.Imported) {
		spans = nil // the next run has the rows of the import folded, which are not late
	}
	if err := a.lateRows(ctx, d, spans); err != nil || d.Err != nil {
		return err
	}
	if full {
		if err := a.workOff(ctx, d); err != nil || d.Err != nil {
			return err
		}
	}
	if (full || turn.last()) && !pending {
		return a.drop(ctx, d)
	}
	return nil
}

// pending reports whether rows of an import, a move or a gap are still to be folded. What the cursor has passed of them
// is not counted before it has passed all, so nothing leaves the ledger before then, or late rows there would be lost.
func pending(d *folding.Device) bool {
	t := d.Row
	return d.Member.Imports.Unknown(t.Imported) || !t.Importing.Empty() || !t.Gap.Empty()
}

// floor returns where the ledger of a device begins: no living token admits a row below it, or rows may be gone.
func (a *auditor) floor(d *folding.Device) tables.Ticks {
	sure := commit.Surely(a.now, a.task.Slot)
	return max(sure.Add(-a.Late(d.Member)).Floor(tables.Day), d.Row.Watermark)
}

// mayDrop reports whether the time is sure enough to drop what nothing brings back. An audit that somebody has asked
// for goes by all clocks alone.
func (a *auditor) mayDrop(ctx context.Context) (bool, error) {
	if a.task.Depth == Full {
		return true, nil
	}
	if a.steady == nil {
		steady, err := a.Steady(ctx, commit.Surely(a.now, a.task.Slot))
		if err != nil {
			return false, err
		}
		a.steady = &steady
	}
	return *a.steady, nil
}

// regain moves the ledger's floor back if tokens admit older rows than before, and has the gap folded again, because
// its counts are gone.
func (a *auditor) regain(ctx context.Context, d *folding.Device) error {
	floor, was := a.floor(d), d.Row.Floor
	if floor >= was {
		return nil
	}
	gap := tracking.Window{From: floor, To: max(was, d.Row.Gap.To)}
	err := a.commit(ctx, d, func(t *tracking.Row) {
		t.Floor, t.Gap = floor, gap
		t.FoldAgain(tracking.Cursor{Window: gap})
	})
	if err == nil && d.Err == nil {
		a.hand(d)
	}
	return err
}

// lateRows counts storage's rows in some spans below the checkpoint, and folds the days again that have more than the
// ledger says.
func (a *auditor) lateRows(ctx context.Context, d *folding.Device, spans []tracking.Window) error {
	late, err := a.findLate(ctx, d, spans)
	if err != nil {
		return err
	}
	for len(late) > 0 {
		today := tracking.Window{From: late[0].From.Floor(tables.Day), To: late[0].From.Floor(tables.Day) + tables.Day}
		open, err := d.OpenDay()
		if err != nil {
			d.Err = err
			return nil
		}
		if today.To > open { // open windows are folded once, with everything late in them
			return a.lateDay(ctx, d, tracking.Window{From: min(today.From, open), To: tables.MaxTicks})
		}
		for len(late) > 0 && late[0].From < today.To {
			late = late[1:]
		}
		if err := a.lateDay(ctx, d, today); err != nil || d.Err != nil {
			return err
		}
	}
	return nil
}

// findLate returns the spans of the ledger in which storage has more rows, in order.
func (a *auditor) findLate(ctx context.Context, d *folding.Device, spans []tracking.Window) (late []tracking.Window,
	err error) {
	for _, s := range spans {
		s.From = max(s.From, d.Row.Floor, d.Row.Gap.To, d.Row.Importing.To)
		if s.Empty() || s.From > tables.TicksBefore(d.Row.Last) {
			continue
		}
		counted, err := a.count(ctx, d, s)
		if err != nil {
			return nil, err
		}
		more, missing := d.Row.Ledger.Late(counted, s)
		a.result.Missing += int(missing)
		late = append(late, more...)
	}
	slices.SortFunc(late, func(a, b tracking.Window) int { return cmp.Compare(a.From, b.From) })
	return late, nil
}

// lateDay folds a day with late rows again, or leaves it to the refold cursor if it is too much for this job.
func (a *auditor) lateDay(ctx context.Context, d *folding.Device, w tracking.Window) error {
	if d.Row.Ledger.Count(w.From, w.To) <= int64(a.left) {
		_, err := a.refold(ctx, d, redo{Window: w, late: true})
		if !errors.Is(err, errTooMuch) {
			return err
		}
	}
	w.To = min(w.To, tables.TicksBefore(d.Row.Last)+1)
	return a.leave(ctx, d, tracking.Cursor{Window: w})
}

// leave sets the refold cursor, which other jobs work off.
func (a *auditor) leave(ctx context.Context, d *folding.Device, c tracking.Cursor) error {
	if err := a.commit(ctx, d, func(t *tracking.Row) { t.FoldAgain(c) }); err != nil || d.Err != nil {
		return err
	}
	a.hand(d)
	return nil
}

// hand leaves the device's cursor to another job.
func (a *auditor) hand(d *folding.Device) {
	if n := len(a.result.Unended); n > 0 && a.result.Unended[n-1].Device == d.Member.Place() {
		a.result.Unended = a.result.Unended[:n-1]
	}
	a.result.Unended = append(a.result.Unended, Unended{Device: d.Member.Place(), Mark: d.Row.RefoldMark.ID})
}

// workOff moves the refold cursor portion by portion, as far as one job may.
func (a *auditor) workOff(ctx context.Context, d *folding.Device) error {
	for !d.Row.Refold.Empty() {
		if a.left <= 0 {
			a.hand(d)
			return nil
		}
		c := d.Row.Refold
		r := redo{Window: tracking.Window{From: c.From, To: c.To.Ceil(tables.Day)}, Stream: d.Row.Stream, cursor: true,
			then: func(t *tracking.Row, f *folding.Device, done bool) {
				t.Passed(f.Row, f.Rejects, done)
				d.Model.KeepWindowed(t.Stream.States)
			}}
		if _, err := a.refold(ctx, d, r); err != nil || d.Err != nil {
			return err
		}
		if a.mark != "" {
			a.mark = d.Row.RefoldMark.ID
		}
	}
	return nil
}

// drop removes the spans from the ledger where no living token admits a row. This was already so when the audit that
// counted them began.
func (a *auditor) drop(ctx context.Context, d *folding.Device) error {
	floor := a.floor(d)
	spans := d.Row.Ledger.Spans()
	if len(spans) == 0 || spans[0][1] > floor || !d.Row.Refold.Empty() && d.Row.Refold.From < floor {
		return nil
	}
	if may, err := a.mayDrop(ctx); err != nil || !may {
		return err
	}
	return a.commit(ctx, d, func(t *tracking.Row) {
		t.Ledger.Drop(floor)
		t.Floor = max(t.Floor, floor)
		t.Gap.From = max(t.Gap.From, floor)
	})
}

// commit changes only a device's row. Rows that were folded meanwhile do no harm, so a busy device gets its turn.
func (a *auditor) commit(ctx context.Context, d *folding.Device, change func(*tracking.Row)) error {
	for try := range commit.Tries {
		fresh, err := a.fresh(ctx, d)
		if err != nil {
			return err
		}
		if !fresh.SameIn(tracking.Window{To: tables.MaxTicks}, d.Row, a.now) || fresh.Floor != d.Row.Floor ||
			fresh.Gap != d.Row.Gap {
			return errChanged
		}
		d.Row = fresh
		if err := a.commitOnce(ctx, d, change); !errors.Is(err, errChanged) {
			return err
		}
		if err := commit.Pause(ctx, try); err != nil {
			return err
		}
	}
	return errChanged
}

func (a *auditor) commitOnce(ctx context.Context, d *folding.Device, change func(*tracking.Row)) error {
	f := d.On(d.Row.Clone())
	f.Dirty, f.Seen = true, d.Seen
	change(f.Row)
	j := a.newJob()
	defer leave(ctx, j, d)
	return a.finish(ctx, j, d, f)
}
