package jobs

import (
	"context"
	"crypto/rand"
	"maps"
	"math"
	"slices"

	"furrow/tables"
)

// A window is the ticks in [from, to).
type window struct{ from, to tables.Ticks }

func (w window) meets(o window) bool { return w.from < o.to && o.from < w.to }

func floorTo(t, length tables.Ticks) tables.Ticks { return t - t%length }

// openDay is the start of the day from which on windows are open: what is late
// there must be folded into the state, too. MaxTicks is none; zero that nothing
// was folded yet, so that whatever comes is open.
func (p *Pipeline) openDay(t *track) (tables.Ticks, error) {
	open := tables.MaxTicks
	for _, processor := range p.Processors {
		w, ok := processor.windowed()
		if !ok {
			continue
		}
		from, err := w.OpenFrom(t.states[processor.Name])
		if err != nil {
			return 0, err
		}
		open = min(open, floorTo(from, day))
	}
	return open, nil
}

// refold folds a day whole from its raw rows and replaces what was made of it;
// of a day that is still open, everything from there up to the checkpoint, and
// the state, too. Only outputs of the touched windows are written; nil means all.
//
// It folds first and claims then, on the row that it started from: whoever has
// moved the device meanwhile makes it begin anew (invariant 7).
func (a *auditor) refold(ctx context.Context, d *folding, w window, touched []window, left cursor) error {
	p := a.pipeline
	open, err := p.openDay(d.track)
	if err != nil {
		d.err = err
		return nil
	}
	f := newFolding(d.member, p.emptied(d.track))
	rows := tables.Range{Partitions: tables.Is(string(d.member.Device)), Rows: tables.Keys{From: w.from.String(), Before: w.to.String(), To: d.track.last}}
	isOpen := w.to > open
	if isOpen {
		if open > 0 {
			w.from = open
		}
		w.to = tables.MaxTicks
		rows.Rows = tables.Keys{From: w.from.String(), To: d.track.last}
	}
	if err := p.knowRejects(ctx, f, d.track); err != nil {
		return err
	}
	if err := a.foldAnew(ctx, f, rows, isOpen); err != nil || f.err != nil {
		d.err = f.err
		return err
	}
	f.keep(touched)
	late := f.replaced(d.track, w, isOpen, p)
	f.rejects.atMost(late) // the others were counted when they were first folded
	f.track.refold = left
	f.track.late += late
	if err := a.write(ctx, d, f); err != nil || d.err != nil {
		return err
	}
	a.result.Refolds++
	a.result.Late += int(late)
	return nil
}

// emptied is a track as at the beginning of a window: windowed processors have
// no state; the others go on with theirs.
func (p *Pipeline) emptied(t *track) *track {
	e := newTrack()
	for _, processor := range p.Processors {
		if _, ok := processor.windowed(); !ok {
			e.states[processor.Name] = t.states[processor.Name]
		}
	}
	return e
}

func (a *auditor) foldAnew(ctx context.Context, f *folding, rows tables.Range, open bool) error {
	defer f.rescue()
	if err := a.pipeline.foldRange(ctx, f, rows, math.MaxInt, math.MaxInt); err != nil || f.err != nil {
		return err
	}
	until := tables.MaxTicks // whatever a closed window still waits for is not coming
	if open {
		until = TicksBefore(f.track.last)
	}
	f.err = a.pipeline.close(f, until)
	return nil
}

// keep leaves out the outputs of windows that were not touched.
// Objects stay: what asked for one has left its fold's state, and is asked for no
// second time.
func (f *folding) keep(touched []window) {
	if touched == nil {
		return
	}
	in := func(w window) bool { return slices.ContainsFunc(touched, w.meets) }
	for o, e := range f.effects {
		if o.Kind != Object && e.To > e.From && !in(window{e.From, e.To}) && e.Closed {
			delete(f.effects, o)
		}
	}
}

// replaced makes of the track of a fold from the beginning of a window what the
// device's is to be, and says how many rows there are more than were counted.
func (f *folding) replaced(old *track, w window, open bool, p *Pipeline) (late int64) {
	made := f.track
	f.track = old.clone()
	for _, processor := range p.Processors {
		if _, windowed := processor.windowed(); open || !windowed {
			f.track.states[processor.Name] = made.states[processor.Name]
		}
	}
	late = f.track.ledger.replace(window{max(w.from, old.floor), w.to}, made.ledger)
	f.track.rows += late
	if !open {
		for o, e := range f.effects {
			e.Closed = e.Closed || e.To > e.From
			f.effects[o] = e
		}
	}
	if open { // what is open now is written again, all of it
		maps.DeleteFunc(f.track.open, func(o Output, _ tables.ETag) bool { return o.Kind != Latest })
	}
	f.look = true
	return max(late, 0)
}

// write claims a device on the row that was read, writes, and commits. What the
// device is then goes to d.
func (a *auditor) write(ctx context.Context, d, f *folding) error {
	f.dirty, f.behind = true, false
	j := &job{pipeline: a.pipeline, claim: rand.Text(), now: a.now, work: []*folding{f}}
	if err := j.do(ctx); err != nil {
		j.giveBack(ctx)
		return err
	}
	if f.dropped {
		return errChanged
	}
	d.err, d.rows = f.err, f.rows
	d.track = f.track
	d.track.read.marks, d.track.read.refold = d.track.marks, d.track.refold
	return nil
}

// clone is t with maps and a ledger of its own.
func (t *track) clone() *track {
	c := *t
	c.states, c.open = maps.Clone(t.states), maps.Clone(t.open)
	c.ledger = &Ledger{spans: slices.Clone(t.ledger.spans)}
	return &c
}
