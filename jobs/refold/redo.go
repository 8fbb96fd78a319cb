package refold

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"

	"furrow/jobs/commit"
	"furrow/jobs/coverage"
	"furrow/jobs/fold"
	"furrow/jobs/folding"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// A redo is a range of a device's rows that is folded again and replaces its outputs. Its window has whole days,
// because no window is longer. One that reaches into open windows ends at the checkpoint, and replaces the states, too.
type redo struct {
	coverage.Window
	tracking.Stream // where it continues

	stale bool // it makes stale days again, all of their outputs; otherwise windows whose count differs from the ledger's
}

// Reasons to leave a device for now.
var (
	errChanged = errors.New("the tracking row has changed meanwhile")
	errForeign = errors.New("the device was folded under other settings")
	errTooMuch = errors.New("it is too much for one job")
)

// refold folds a portion of a redo, and commits it on a fresh row. It claims nothing while it folds: a closed window
// only needs its own hours of the ledger unchanged, so a busy device does no harm. Rows that others fold meanwhile in
// an open window, or on the day of the checkpoint, are folded before the row is claimed.
func (a *auditor) refold(ctx context.Context, d *folding.Device, r redo) error {
	open, err := d.OpenDay()
	if err != nil {
		d.Err = err
		return nil
	}
	isOpen := r.To > open
	if isOpen {
		r.To = tables.MaxTicks
		if r.Row == "" {
			r.From = max(min(r.From, open), d.Row.Coverage.Watermark)
		}
	}
	f, err := a.beginRedo(ctx, d, r)
	if err != nil {
		return err
	}
	j := a.newJob()
	defer leave(ctx, j, d)
	for try := range commit.Tries {
		most, full := max(a.left, a.Portion), 0
		if r.stale {
			most, full = f.Folded+a.Portion, f.Bytes+folding.MaxBytes
		}
		if err := a.stretch(ctx, f, r, d.Row.Last, isOpen, most, full); err != nil || f.Err != nil {
			d.Err = f.Err
			return err
		}
		d.Seen = max(d.Seen, f.Seen)
		if f.Behind && !r.stale {
			return errTooMuch
		}
		if !d.Claimed {
			fresh, err := a.fresh(ctx, d)
			if err != nil {
				return err
			}
			if !fresh.SameIn(r.Window, d.Row, a.now) {
				return errChanged
			}
			more := !f.Behind && fresh.Last != d.Row.Last && r.To > tables.TicksBefore(d.Row.Last)
			d.Row = fresh
			if more && try > 0 { // rows keep arriving while others are read
				if claimed, err := j.ClaimOne(ctx, &d.Device); err != nil {
					return err
				} else if !claimed {
					return errChanged
				}
			}
			if more {
				if err := a.knowRejects(ctx, f, d.Row); err != nil {
					return err
				}
				continue
			}
		}
		g, late, err := replaced(f, d, r, isOpen)
		if err != nil {
			d.Err = err
			return nil
		}
		mark := d.Row.RefoldMark
		err = a.finish(ctx, j, d, g)
		if err == nil && d.Err == nil {
			if !r.stale && d.Row.RefoldMark != mark { // the message with the old mark does nothing now
				a.hand(d)
			}
			a.result.Refolds++
			a.result.Late += int(late)
			a.left -= f.Folded
		}
		if !errors.Is(err, errChanged) {
			return err
		}
		if err := commit.Pause(ctx, try); err != nil {
			return err
		}
	}
	return errChanged
}

// beginRedo starts a device where the redo got to. Its track is not the device's: windowed processors have the
// redo's states, merging ones none.
func (a *auditor) beginRedo(ctx context.Context, d *folding.Device, r redo) (*folding.Device, error) {
	t := tracking.New()
	t.Last = r.Row
	f := d.On(t)
	f.Again = true
	if r.Row != "" { // a rewind leaves the rest of a stream when it resets the row
		t.Ledger = r.Counted.Clone()
		t.States = maps.Clone(r.States)
		f.Rejects = r.Rejects
		f.Rejects.Kept = slices.Clone(r.Rejects.Kept)
	}
	// A window that closes without another sample is written as it is now.
	if err := f.OpenWindows(); err != nil {
		return nil, err
	}
	return f, a.knowRejects(ctx, f, d.Row)
}

// stretch folds the rows of a redo up to a checkpoint, at most so many and so many bytes, if that is not
// zero.
func (a *auditor) stretch(ctx context.Context, f *folding.Device, r redo, upTo string, open bool,
	most, full int) error {
	defer f.Rescue()
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
	l := folding.Limits{Rows: most, Bytes: full, Weight: folding.MaxWeight}
	if err := f.Read(ctx, a.Writer.Client.Table(f.Member.Readings), rows, l); err != nil || f.Err != nil {
		return err
	}
	until := tables.MaxTicks // nothing more comes for a closed window
	if open || f.Behind {
		until = tables.TicksBefore(f.Row.Last)
	}
	if f.Err = f.Close(until); f.Err == nil && !f.Behind {
		f.Err = f.OpenWindows()
	}
	return nil
}

// fresh reads the device's row again, if this job may claim it.
func (a *auditor) fresh(ctx context.Context, d *folding.Device) (*tracking.Row, error) {
	for try := 0; ; try++ {
		e, err := a.Writer.Tracking().Get(ctx, d.Member.Month.String(), string(d.Member.Key()))
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
func replaced(f, d *folding.Device, r redo, isOpen bool) (g *folding.Device, late int64, err error) {
	done := !f.Behind
	g = d.On(d.Row.Clone())
	g.Look, g.Seen, g.Folded, g.Dirty = true, f.Seen, f.Folded, true
	passed := coverage.Window{From: r.From, To: r.To}
	g.Rejects, g.Acks = f.Rejects, f.Acks
	if !done {
		passed.To = tables.TicksBefore(f.Row.Last).Floor(tables.Day)
		g.Rejects, _ = f.Rejects.Split(passed.To)
	}
	touched := d.Row.Ledger.Differences(f.Row.Ledger, passed)
	late, fresh := g.Row.Enter(passed, f.Row.Ledger)
	if !r.stale {
		g.Row.StartDayAgain(passed)
	}
	g.Rejects.AtMost(max(fresh, g.Rejects.Known.Uncounted(g.Rejects.Count)))
	for o, e := range f.Effects {
		isWindow := o.Table != "" && e.To > e.From
		if isWindow && done && !isOpen {
			e.Closed = true
		}
		if !isOpen && e.To > r.To {
			continue // it depends on later readings, too
		}
		same := !r.stale && !slices.ContainsFunc(touched, coverage.Window{From: e.From, To: e.To}.Meets)
		if e.IsMark() && same && e.To <= passed.To || isWindow && (same && e.Closed || !done && !e.Closed) {
			continue // it is as it was, or not done
		}
		g.Effect(e)
	}
	if done && isOpen {
		g.Row.ForgetOpen(g.Model)
	}
	for _, processor := range f.Model.Processors {
		if err := adopt(g, processor, f.Row.States[processor.Name], done && isOpen, r.stale && done); err != nil {
			return nil, 0, err
		}
	}
	if r.stale {
		err = pass(g, f, r, done)
	}
	return g, late, err
}

// adopt takes over a processor's result of a redo. At the end of stale days, merging outputs are written as they are,
// too: an attempt may have left others, which no state knows.
func adopt(g *folding.Device, processor fold.Configured, state []byte, open, anyway bool) error {
	t := g.Row
	if _, ok := processor.Windowed(); ok && open {
		t.States[processor.Name] = state
	}
	m, ok := processor.Fold.(fold.Merging)
	if !ok {
		return nil
	}
	if err := merge(g, m, processor, t.States[processor.Name], state, 0, anyway); err != nil {
		return err
	}
	if t.Coverage.RebuildTo == 0 {
		return nil
	}
	rebuilt, err := m.Merge(g.Member, t.Again[processor.Name], state, 0)
	t.Again[processor.Name], t.Rebuilt = rebuilt.State, true
	return err
}

// pass notes that a portion of stale days is made again. With the last of the days that merging outputs needed to be
// rebuilt, their states are replaced by those, joined with what live jobs have folded since.
func pass(g, f *folding.Device, r redo, done bool) error {
	rebuild := g.Row.Coverage.RebuildTo
	g.Row.Passed(r.Window, f.Row, f.Rejects, done)
	g.Model.KeepWindowed(g.Row.Stream.States)
	if rebuild == 0 || g.Row.Coverage.RebuildTo != 0 {
		return nil
	}
	for _, processor := range g.Model.Processors {
		m, ok := processor.Fold.(fold.Merging)
		if !ok {
			continue
		}
		base, err := older(g, m, processor)
		if err == nil {
			err = merge(g, m, processor, base, g.Row.States[processor.Name], rebuild, true)
		}
		if err != nil {
			return err
		}
	}
	g.Row.ForgetAgain()
	return nil
}

// older returns the state of a redo of all readings, with the values of readings below the watermark, which nothing can
// fold again. Those of sensors that the settings no longer know leave.
func older(g *folding.Device, m fold.Merging, processor fold.Configured) ([]byte, error) {
	again := g.Row.Again[processor.Name]
	if g.Row.Coverage.Watermark == 0 {
		return again, nil
	}
	old, err := m.Below(g.Row.States[processor.Name], g.Row.Coverage.Watermark, g.Model.Sensors.Makes)
	if err != nil {
		return nil, err
	}
	out, err := m.Merge(g.Member, old, again, 0)
	return out.State, err
}

// merge joins states of a merging processor into the device's, and has its outputs written if they have changed, or
// anyway.
func merge(g *folding.Device, m fold.Merging, processor fold.Configured, base, other []byte, from tables.Ticks,
	anyway bool) error {
	out, err := m.Merge(g.Member, base, other, from)
	if err != nil {
		return err
	}
	if !anyway && slices.Equal(out.State, g.Row.States[processor.Name]) {
		return nil
	}
	g.Row.States[processor.Name] = out.State
	return g.EffectsOf(processor, out.Effects)
}

// newJob returns a job that writes for a device of the audit.
func (a *auditor) newJob() *commit.Attempt {
	return &commit.Attempt{Writer: a.Writer, Claim: AuditClaim + rand.Text(), Now: a.now}
}

// finish writes and commits f, on the row that was read or claimed, and updates d.
func (a *auditor) finish(ctx context.Context, j *commit.Attempt, d, f *folding.Device) error {
	f.Claimed, j.Work = d.Claimed, []*commit.Device{&f.Device}
	if err := j.Do(ctx); err != nil {
		return err
	}
	if _, err := a.Outbox.Committed(ctx, []*folding.Device{f}); err != nil {
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
func leave(ctx context.Context, j *commit.Attempt, d *folding.Device) {
	if d.Err != nil {
		return
	}
	j.GiveBack(ctx)
	d.Claimed, d.Dirty = false, false
}

// AuditClaim is the prefix of audits' claims.
const AuditClaim = "audit-"

// knowRejects reads the ring of a device before a refold, which meets rejects again that were already counted, and once
// more before it reads rows that a live job has folded meanwhile. Those of an attempt without a commit do not count.
func (a *auditor) knowRejects(ctx context.Context, f *folding.Device, old *tracking.Row) error {
	if old.Rejects == 0 {
		return nil
	}
	var rows []string
	ring := tables.Range{Partitions: tables.Is(string(f.Member.Device)), Rows: schema.RejectsOf(a.Writer.Pipeline)}
	q := tables.Query{Range: ring,
		Select: []string{"PartitionKey", "RowKey", schema.RejectNumber, schema.RejectRow}}
	for e, err := range a.Writer.Client.Table(a.Writer.Names.Rejects()).Entities(ctx, q) {
		if err != nil {
			return fmt.Errorf("reading rejects: %w", err)
		}
		if r, err := schema.RejectOf(e); err == nil && r.Ring == f.Member.Ring() && r.Number < old.Rejects {
			rows = append(rows, r.Row)
		}
	}
	f.Rejects.Known.Learn(rows, old.Rejects)
	return nil
}

// mine reports whether the device was folded under this job's own settings, and in the spans of its membership. Workers
// with other settings audit the others. After a move, and where retention may have deleted rows of stale days, the next
// device job comes first.
func (a *auditor) mine(d *folding.Device, t *tracking.Row) bool {
	_, moved := t.Spans.Differ(d.Member.Spans)
	gone := t.Coverage.Watermark < d.Member.Watermark && !t.Coverage.Next().Empty()
	return t.Settings == d.Model.Settings && t.Generation <= a.Writer.Generation && !moved && !gone
}

// hand leaves the device's stale days to another job.
func (a *auditor) hand(d *folding.Device) {
	if n := len(a.result.Unended); n > 0 && a.result.Unended[n-1].Device == d.Member.Place() {
		a.result.Unended = a.result.Unended[:n-1]
	}
	a.result.Unended = append(a.result.Unended, Unended{Device: d.Member.Place(), Mark: d.Row.RefoldMark.ID})
}

// errHeld says that another job keeps the device claimed for too long to wait.
var errHeld = errors.New("another job has claimed the device")
