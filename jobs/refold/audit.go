package refold

import (
	"context"
	"errors"
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/coverage"
	"furrow/jobs/folding"
	"furrow/jobs/tracking"
	"furrow/tables"
)

// turnTo audits a device that concerns this message. Its error is the job's.
func (a *auditor) turnTo(ctx context.Context, d *folding.Device) error {
	err := a.listen(ctx, d)
	if err == nil && a.concerns(d) {
		err = a.insist(ctx, d)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		d.Unavailable(err)
	}
	return nil
}

// serve leaves the device's stale days to another job if its mark may have no message: this job may have died before,
// or fails after a portion.
func (a *auditor) serve(d *folding.Device) {
	if (d.Err != nil || a.task.Tried) && !d.Row.Coverage.Next().Empty() && d.Row.RefoldMark.ID != "" {
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
	return a.mark == "" || t.RefoldMark.ID == a.mark // another message works off the stale days
}

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
	if a.task.Depth == Refold {
		return a.workOff(ctx, d)
	}
	known := coverage.Known{At: a.Writer.Clock.Surely(a.now, a.task.Slot), Late: a.Late(d.Member)}
	if err := a.admit(ctx, d, known); err != nil || d.Err != nil {
		return err
	}
	full, turn := a.task.Depth == Full, TurnOf(a.Writer.Pipeline, d.Member.Month, a.task.Since, a.task.Slot)
	last := coverage.Window{To: known.At.Add(-known.Late).Floor(tables.Day)} // no living token admits a row of it
	spans := []coverage.Window{{To: tables.MaxTicks}}
	if !full {
		if spans = turn.beside(d.Row.Recounted, a.Every(d)); turn.last() {
			spans = append(spans, last)
		}
	}
	if err := a.lateRows(ctx, d, spans); err != nil || d.Err != nil {
		return err
	}
	if full {
		if err := a.workOff(ctx, d); err != nil || d.Err != nil {
			return err
		}
	}
	if !full && !turn.last() {
		return nil
	}
	s, err := a.sealOf(ctx, d, last, known)
	switch {
	case err != nil || len(s.days) == 0:
		return err
	case full:
		return a.commit(ctx, d, s.on)
	}
	a.seals = append(a.seals, s)
	return nil
}

// admit has days made again that were sealed, and to which tokens admit rows now.
func (a *auditor) admit(ctx context.Context, d *folding.Device, known coverage.Known) error {
	if c := d.Row.Coverage; !c.Admit(known) {
		return nil
	}
	err := a.commit(ctx, d, func(t *tracking.Row) {
		t.Stream = tracking.Stream{}
		t.Coverage.Admit(known)
	})
	if err == nil && d.Err == nil {
		a.hand(d)
	}
	return err
}

// lateRows counts storage's rows in some spans below the checkpoint, and folds the days again that have more than the
// ledger says.
func (a *auditor) lateRows(ctx context.Context, d *folding.Device, spans []coverage.Window) error {
	late, err := a.findLate(ctx, d, spans)
	if err != nil {
		return err
	}
	for len(late) > 0 {
		today := coverage.Window{From: late[0].From.Floor(tables.Day), To: late[0].From.Floor(tables.Day) + tables.Day}
		open, err := d.OpenDay()
		if err != nil {
			d.Err = err
			return nil
		}
		if today.To > open { // open windows are folded once, with everything late in them
			return a.lateDay(ctx, d, coverage.Window{From: min(today.From, open), To: tables.MaxTicks})
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
func (a *auditor) findLate(ctx context.Context, d *folding.Device, spans []coverage.Window) (late []coverage.Window,
	err error) {
	for _, s := range joined(spans, d.Row.Ledger) {
		parts := d.Row.Counted(s, d.Member.Imports)
		if len(parts) == 0 {
			continue
		}
		found, err := a.count(ctx, d, coverage.Window{From: parts[0].From, To: parts[len(parts)-1].To})
		if err != nil {
			return nil, err
		}
		more, missing := d.Row.Ledger.Late(found, parts)
		a.result.Missing += int(missing)
		late = append(late, more...)
	}
	return late, nil
}

// lateDay folds a day with late rows again, or makes it stale if that is too much for this job.
func (a *auditor) lateDay(ctx context.Context, d *folding.Device, w coverage.Window) error {
	if d.Row.Ledger.Count(w.From, w.To) <= int64(a.left) {
		err := a.refold(ctx, d, redo{Window: w})
		if !errors.Is(err, errTooMuch) {
			return err
		}
	}
	w.To = min(w.To, tables.TicksBefore(d.Row.Last)+1)
	err := a.commit(ctx, d, func(t *tracking.Row) { t.FoldAgain(w, coverage.Late) })
	if err == nil && d.Err == nil {
		a.hand(d)
	}
	return err
}

// workOff makes stale days again, portion by portion, as far as one job may.
func (a *auditor) workOff(ctx context.Context, d *folding.Device) error {
	for next := d.Row.Coverage.Next(); !next.Empty(); next = d.Row.Coverage.Next() {
		if a.left <= 0 {
			a.hand(d)
			return nil
		}
		if err := a.refold(ctx, d, redo{Window: next, Stream: d.Row.Stream, stale: true}); err != nil || d.Err != nil {
			return err
		}
		if a.mark != "" {
			a.mark = d.Row.RefoldMark.ID
		}
	}
	return nil
}
