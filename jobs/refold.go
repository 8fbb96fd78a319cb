package jobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"

	"furrow/jobs/commit"
	"furrow/jobs/fold"
	"furrow/jobs/tracking"
	"furrow/tables"
)

// A redo is a range of a device's rows that is folded again and replaces its outputs. Its window has whole days,
// because no window is longer. One that reaches into open windows ends at the checkpoint, and replaces the states, too.
type redo struct {
	tracking.Window
	tracking.Stream // where it continues

	cursor bool                                           // it works off the refold cursor
	late   bool                                           // write only windows whose count differs from the ledger's
	then   func(t *tracking.Row, f *deviceRun, done bool) // what else a commit changes
}

// Reasons to leave a device for now.
var (
	errChanged = errors.New("the tracking row has changed meanwhile")
	errForeign = errors.New("the device was folded under other settings")
	errTooMuch = errors.New("it is too much for one job")
)

// refold folds a portion of a redo, and commits it on a fresh row. It claims nothing while it folds: a closed window
// only needs its own hours of the ledger unchanged, so a busy device does no harm. Rows that arrive while an open
// window is folded are folded before the row is claimed. It reports whether the redo is done.
func (a *auditor) refold(ctx context.Context, d *deviceRun, r redo) (done bool, err error) {
	p := a.pipeline
	open, err := d.openDay()
	if err != nil {
		d.Err = err
		return false, nil
	}
	isOpen := r.To > open
	if isOpen {
		r.To = tables.MaxTicks
		if r.Row == "" {
			r.From = max(min(r.From, open), d.Row.Watermark)
		}
	}
	f, err := p.beginRedo(ctx, d, r)
	if err != nil {
		return false, err
	}
	j := a.newJob()
	defer leave(ctx, j, d)
	for try := range commit.Tries {
		most := max(a.left, p.portion())
		if r.cursor {
			most, f.full = f.rows+p.portion(), f.bytes+maxBytes
		}
		if err := p.stretch(ctx, f, r, d.Row.Last, isOpen, most); err != nil || f.Err != nil {
			d.Err = f.Err
			return false, err
		}
		d.Seen = max(d.Seen, f.Seen)
		if f.Behind && !r.cursor {
			return false, errTooMuch
		}
		if !d.Claimed {
			fresh, err := a.fresh(ctx, d)
			if err != nil {
				return false, err
			}
			if !fresh.SameIn(r.Window, d.Row, a.now) {
				return false, errChanged
			}
			more := isOpen && !f.Behind && fresh.Last != d.Row.Last
			d.Row = fresh
			if more && try > 0 { // rows keep arriving while others are read
				if claimed, err := j.ClaimOne(ctx, &d.Device); err != nil {
					return false, err
				} else if !claimed {
					return false, errChanged
				}
			}
			if more {
				continue
			}
		}
		g, late, err := p.replaced(f, d, r, isOpen)
		if err != nil {
			d.Err = err
			return false, nil
		}
		mark := d.Row.RefoldMark
		err = p.finish(ctx, j, d, g)
		if err == nil && d.Err == nil {
			if !r.cursor && d.Row.RefoldMark != mark { // the message with the old mark does nothing now
				a.hand(d)
			}
			a.result.Refolds++
			a.result.Late += int(late)
			a.left -= f.rows
		}
		if !errors.Is(err, errChanged) {
			return !f.Behind, err
		}
		if err := commit.Pause(ctx, try); err != nil {
			return false, err
		}
	}
	return false, errChanged
}

// beginRedo starts a deviceRun where the redo got to. Its track is not the device's: windowed processors have the
// redo's states, merging ones none.
func (p *Pipeline) beginRedo(ctx context.Context, d *deviceRun, r redo) (*deviceRun, error) {
	t := tracking.New()
	t.Last = r.Row
	f := d.on(t)
	f.again = true
	if r.Row != "" { // a rewind leaves the rest of a stream when it resets the row
		t.Ledger = r.Counted.Clone()
		t.States = maps.Clone(r.States)
		f.Rejects = r.Rejects
		f.Rejects.Kept = slices.Clone(r.Rejects.Kept)
	}
	// A window that closes without another sample is written as it is now.
	if err := f.openWindows(); err != nil {
		return nil, err
	}
	return f, p.knowRejects(ctx, f, d.Row)
}

// openWindows has every open window written, even if no sample has changed it: other settings may have left something
// there.
func (f *deviceRun) openWindows() error {
	for _, processor := range f.model.Processors {
		w, ok := processor.Windowed()
		state := f.Row.State(processor.Name)
		if !ok || state == nil {
			continue
		}
		effects, err := w.Open(f.Member, state)
		if err != nil {
			return err
		}
		if err := f.effectsOf(processor, effects); err != nil {
			return err
		}
	}
	return nil
}

// stretch folds the rows of a redo up to a checkpoint, at most so many.
func (p *Pipeline) stretch(ctx context.Context, f *deviceRun, r redo, upTo string, open bool, most int) error {
	defer f.rescue()
	keys := tables.Keys{From: r.From.String(), Before: r.To.String(), To: upTo}
	if r.From == 0 {
		keys.From = "" // malformed row keys may lie below all ticks
	}
	if open {
		keys.Before = ""
	}
	if f.Row.Last != "" {
		keys.From, keys.After = "", f.Row.Last
	}
	f.Behind = false
	rows := tables.Range{Partitions: tables.Is(string(f.Member.Device)), Rows: keys}
	if err := p.foldRange(ctx, f, rows, most, maxWeight); err != nil || f.Err != nil {
		return err
	}
	until := tables.MaxTicks // nothing more comes for a closed window
	if open || f.Behind {
		until = tables.TicksBefore(f.Row.Last)
	}
	if f.Err = f.close(until); f.Err == nil && !f.Behind {
		f.Err = f.openWindows()
	}
	return nil
}

// fresh reads the device's row again, if this job may claim it.
func (a *auditor) fresh(ctx context.Context, d *deviceRun) (*tracking.Row, error) {
	for try := 0; ; try++ {
		e, err := a.pipeline.tracking().Get(ctx, d.Member.Month.String(), string(d.Member.Key()))
		if errors.Is(err, tables.ErrNotFound) {
			return nil, errChanged
		}
		if err != nil {
			return nil, err
		}
		t, err := tracking.RowOf(e)
		switch {
		case err != nil:
			d.Err = fmt.Errorf("its tracking row cannot be read: %w", err)
			return nil, d.Err
		case !a.mine(d, t):
			return nil, errForeign
		case !t.Hold.Keeps(max(a.now, d.Seen)):
			return t, nil
		case try == commit.Tries:
			d.Row = t
			return nil, errHeld
		}
		if err := commit.Pause(ctx, try); err != nil { // its job is probably nearly done
			return nil, err
		}
	}
}

// replaced returns the device as a commit should leave it after a portion of a redo, and the number of late rows in it.
func (p *Pipeline) replaced(f, d *deviceRun, r redo, isOpen bool) (g *deviceRun, late int64, err error) {
	done := !f.Behind
	g = d.on(d.Row.Clone())
	g.Look, g.Seen, g.rows, g.Dirty = true, f.Seen, f.rows, true
	passed := tracking.Window{From: r.From, To: r.To}
	g.Rejects, g.Acks = f.Rejects, f.Acks
	if !done {
		passed.To = tables.TicksBefore(f.Row.Last).Floor(tables.Day)
		g.Rejects, _ = f.Rejects.Split(passed.To)
	}
	touched := d.Row.Ledger.Differences(f.Row.Ledger, passed)
	late, fresh := g.Row.Enter(passed, f.Row.Ledger)
	if !r.cursor {
		g.Row.StartDayAgain(passed)
	}
	g.Rejects.AtMost(fresh) // the others were counted when first folded
	for o, e := range f.Effects {
		isWindow := o.Table != "" && e.To > e.From
		if isWindow && done && !isOpen {
			e.Closed = true
		}
		if !isOpen && e.To > r.To {
			continue // it depends on later readings, too
		}
		same := r.late && !slices.ContainsFunc(touched, tracking.Window{From: e.From, To: e.To}.Meets)
		if e.IsMark() && same && e.To <= passed.To || isWindow && (same && e.Closed || !done && !e.Closed) {
			continue // it is as it was, or not done
		}
		g.effect(e)
	}
	if done && isOpen {
		g.Row.ForgetOpen(g.model)
	}
	for _, processor := range f.model.Processors {
		if err := g.adopt(processor, f.Row.States[processor.Name], done && isOpen); err != nil {
			return nil, 0, err
		}
		if done && r.cursor {
			if err := g.rebuilt(processor); err != nil {
				return nil, 0, err
			}
		}
	}
	if r.then != nil {
		r.then(g.Row, f, done)
	}
	return g, late, nil
}

// adopt takes over a processor's result of a redo.
func (g *deviceRun) adopt(processor fold.Configured, state []byte, open bool) error {
	t := g.Row
	if _, ok := processor.Windowed(); ok && open {
		t.States[processor.Name] = state
	}
	m, ok := processor.Fold.(fold.Merging)
	if !ok {
		return nil
	}
	if err := g.merge(m, processor, t.States[processor.Name], state, 0); err != nil {
		return err
	}
	if !t.Refold.Rebuild {
		return nil
	}
	rebuilt, err := m.Merge(g.Member, t.Again[processor.Name], state, 0)
	t.Again[processor.Name], t.Rebuilt = rebuilt.State, true
	return err
}

// rebuilt replaces the state of a merging processor by a redo of all readings, joined with what live jobs have folded
// since the cursor was set.
func (g *deviceRun) rebuilt(processor fold.Configured) error {
	m, ok := processor.Fold.(fold.Merging)
	if !ok || !g.Row.Refold.Rebuild {
		return nil
	}
	base, err := g.older(m, processor)
	if err != nil {
		return err
	}
	return g.merge(m, processor, base, g.Row.States[processor.Name], g.Row.Refold.To)
}

// older returns the state of a redo of all readings, with the values of readings below the watermark, which nothing can
// fold again. Those of sensors that the settings no longer know leave.
func (g *deviceRun) older(m fold.Merging, processor fold.Configured) ([]byte, error) {
	again := g.Row.Again[processor.Name]
	if g.Row.Watermark == 0 {
		return again, nil
	}
	old, err := m.Below(g.Row.States[processor.Name], g.Row.Watermark, g.model.Sensors.Makes)
	if err != nil {
		return nil, err
	}
	out, err := m.Merge(g.Member, old, again, 0)
	return out.State, err
}

// merge joins states of a merging processor into the device's.
func (g *deviceRun) merge(m fold.Merging, processor fold.Configured, base, other []byte, from tables.Ticks) error {
	out, err := m.Merge(g.Member, base, other, from)
	if err != nil {
		return err
	}
	if slices.Equal(out.State, g.Row.States[processor.Name]) {
		return nil
	}
	g.Row.States[processor.Name] = out.State
	return g.effectsOf(processor, out.Effects)
}

// newJob returns a job that writes for a device of the audit.
func (a *auditor) newJob() *commit.Attempt {
	return &commit.Attempt{Writer: a.pipeline.writer(), Claim: auditClaim + rand.Text(), Now: a.now}
}

// finish writes and commits f, on the row that was read or claimed, and updates d.
func (p *Pipeline) finish(ctx context.Context, j *commit.Attempt, d, f *deviceRun) error {
	f.Claimed, j.Work = d.Claimed, []*commit.Device{&f.Device}
	if err := j.Do(ctx); err != nil {
		return err
	}
	if _, err := p.postCommitted(ctx, []*deviceRun{f}); err != nil {
		return err
	}
	d.Claimed = f.Claimed
	switch f.Outcome() {
	case commit.Overtaken:
		return errChanged
	case commit.Failed, commit.Unavailable:
		d.Result = f.Result
		d.Row.ETag = f.Row.ETag // the failure is counted on this version
		return nil
	}
	d.Row = f.Row
	d.Row.Remember()
	return nil
}

// leave gives back a claim without a commit. Counting a failure also gives it back.
func leave(ctx context.Context, j *commit.Attempt, d *deviceRun) {
	if d.Err != nil {
		return
	}
	j.GiveBack(ctx)
	d.Claimed, d.Dirty = false, false
}

// auditClaim is the prefix of audits' claims.
const auditClaim = "audit-"
