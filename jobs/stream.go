package jobs

import (
	"errors"
	"maps"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// A cursor is what is to be folded again: rows with ticks in [from, to), as far as they are below the checkpoint. It
// moves up, day by day, as audit jobs work it off.
type cursor struct {
	window
	// rebuild says that merging processors begin from nothing: what no reading says any more, under the settings that hold
	// now, leaves their outputs at the end.
	rebuild bool
}

// A stream is where the folding of a refold cursor has got to: the second checkpoint of a device, which goes through
// what the first one has passed.
type stream struct {
	row     string            // rows up to it are folded; empty at the start of the cursor
	states  map[string][]byte // of windowed processors, at row
	counted *Ledger           // rows of row's day
	rejects rejects           // of row's day, that are not in the ring: how many of them are late is not known yet
}

// foldAgain has a range folded again. A stream that has passed the start of it begins again with that day.
func (t *track) foldAgain(c cursor) {
	c.from = floorTo(c.from, day)
	if t.refold.empty() || c.from <= t.refold.from {
		t.stream = stream{}
	}
	if t.refold.empty() || c.rebuild {
		t.again, t.rebuilt = withoutStates(t.again), true
	}
	t.refold = t.refold.with(c)
}

// passed moves the cursor behind a portion. The whole of it is done when the stream has come to its end.
func (t *track) passed(f *deviceRun, done bool) {
	if done {
		t.refold, t.stream, t.gap = cursor{}, stream{}, window{}
		t.again, t.rebuilt = withoutStates(t.again), true
		return
	}
	at := floorTo(TicksBefore(f.track.last), day)
	t.refold.from = at // below where it was, if what is open began there
	t.gap.from = max(t.gap.from, min(at, t.gap.to))
	_, rejects := f.rejects.split(at)
	t.stream = stream{f.track.last, maps.Clone(f.track.states), f.track.ledger.from(at), rejects}
}

// keepWindowed leaves the states that a stream goes on with: those of merging processors are joined into the device's
// with every portion.
func (p *Pipeline) keepWindowed(states map[string][]byte) {
	for _, processor := range p.Processors {
		if _, ok := processor.windowed(); !ok {
			delete(states, processor.Name)
		}
	}
}

// withoutStates has the names of states without the states, so that a commit takes them away.
func withoutStates(states map[string][]byte) map[string][]byte {
	all := map[string][]byte{}
	for name := range states {
		all[name] = nil
	}
	return all
}

// startDayAgain has the stream begin its day again where that meets a window: what was counted there has changed, below
// the row that the stream has come to.
func (t *track) startDayAgain(w window) {
	if t.stream.row != "" && w.meets(window{t.refold.from, t.refold.from + day}) {
		t.stream = stream{}
	}
}

// clone is t with maps and a ledger of its own.
func (t *track) clone() *track {
	c := *t
	c.states, c.open, c.again, c.stream.states = maps.Clone(t.states), maps.Clone(t.open), maps.Clone(t.again), maps.Clone(t.stream.states)
	if c.again == nil {
		c.again = map[string][]byte{}
	}
	c.ledger = &Ledger{spans: slices.Clone(t.ledger.spans)}
	return &c
}

// remember makes what was committed the row that was read.
func (t *track) remember() {
	t.read.marks, t.read.refold, t.read.row, t.read.gap = t.marks, t.refold, t.stream.row, t.gap
	t.rebuilt = false
}

// forgetOpen forgets the versions of open windows: what is open now is written again, all of it.
func (t *track) forgetOpen(p *Pipeline) {
	for _, processor := range p.Processors {
		if _, ok := processor.windowed(); ok {
			maps.DeleteFunc(t.open, func(o Output, _ tables.ETag) bool { return slices.Contains(processor.Tables, o.Table) })
		}
	}
}

// enter puts what a redo has counted into the ledger, as far as the ledger reaches, and gives how many rows that are
// more than were counted before. What lies in the gap was counted long ago, and forgotten.
func (t *track) enter(w window, counted *Ledger) (late int64) {
	w.from = max(w.from, t.floor)
	if w.empty() {
		return 0
	}
	gap := w.and(t.gap)
	if !gap.empty() {
		t.ledger.replace(window{w.from, gap.to}, counted)
		w.from = gap.to
	}
	if w.empty() {
		return 0
	}
	more := t.ledger.replace(w, counted)
	t.rows += more
	t.late += max(more, 0)
	return max(more, 0)
}

// readStream reads where a refold has got to.
func (t *track) readStream(e tables.Entity) (err error) {
	f := e.Fields()
	t.stream.row = f.String(schema.TrackRefoldRow)
	if t.stream.counted, err = ParseLedger(f.Binary(schema.TrackRefoldLedger)); err != nil {
		return err
	}
	if t.stream.rejects, err = parseRejects(f.Binary(schema.TrackRefoldRejects)); err != nil {
		return err
	}
	if t.stream.states, err = statesOf(&e, schema.TrackRefolded); err != nil {
		return err
	}
	if t.again, err = statesOf(&e, schema.TrackRebuilt); err != nil {
		return err
	}
	gap, err := parseCursor(f.String(schema.TrackRegained))
	t.gap = gap.window
	t.read.row, t.read.gap = t.stream.row, t.gap
	return errors.Join(err, f.Err())
}

// setStream gives e what has changed of it.
func (t *track) setStream(e *tables.Entity) {
	if t.gap != t.read.gap {
		e.Set(schema.TrackRegained, tables.String(cursor{window: t.gap}.String()))
	}
	if t.rebuilt {
		setStates(e, schema.TrackRebuilt, t.again)
	}
	if !t.refolded() {
		return
	}
	e.Set(schema.TrackRefold, tables.String(t.refold.String()))
	e.Set(schema.TrackRefoldRow, tables.String(t.stream.row))
	counted := t.stream.counted
	if counted == nil {
		counted = &Ledger{}
	}
	e.Set(schema.TrackRefoldLedger, tables.Binary(counted.Append(nil)))
	e.Set(schema.TrackRefoldRejects, tables.Binary(t.stream.rejects.append(nil)))
	if t.stream.row != "" {
		setStates(e, schema.TrackRefolded, t.stream.states)
	}
}

// refolded tells whether the cursor was set, or has moved, since the row was read.
func (t *track) refolded() bool {
	return t.refold != t.read.refold || t.stream.row != t.read.row
}
