package jobs

import (
	"errors"
	"maps"
	"slices"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A cursor says what to fold again: rows with ticks in [from, to) below the checkpoint. It moves up, day by day, as
// audit jobs work it off.
type cursor struct {
	window
	// rebuild says that merging processors start from nothing: what no reading supports under the current settings finally
	// leaves their outputs.
	rebuild bool
}

// A stream is how far the folding of a refold cursor has got: the second checkpoint of a device, which goes through
// what the first one has passed.
type stream struct {
	row     string            // last row that is folded; empty at the start of the cursor
	states  map[string][]byte // of windowed processors, at row
	counted *Ledger           // rows of row's day
	rejects rejects           // of row's day, not in the ring yet: how many of them are late is still unknown
}

// foldAgain has a range folded again, as far as its rows are kept. A stream that is beyond its start continues with
// that day.
func (t *track) foldAgain(c cursor) {
	c.from = max(floorTo(c.from, day), t.watermark)
	if c.empty() {
		return
	}
	if t.refold.empty() || c.from <= t.refold.from {
		t.stream = stream{}
	}
	if t.refold.empty() || c.rebuild {
		t.again, t.rebuilt = withoutStates(t.again), true
	}
	t.refold = t.refold.with(c)
}

// passed moves the cursor past a portion. It is done when the stream has reached its end.
func (t *track) passed(f *deviceRun, done bool) {
	if done {
		t.refold, t.stream, t.gap, t.importing = cursor{}, stream{}, window{}, window{}
		t.again, t.rebuilt = withoutStates(t.again), true
		return
	}
	at := floorTo(TicksBefore(f.track.last), day)
	t.refold.from = at                   // lower than before if the open windows begin there
	t.refold.to = max(t.refold.to, at+1) // with open windows, a portion may end beyond the cursor, and there is more
	t.gap.from = max(t.gap.from, min(at, t.gap.to))
	t.importing.from = max(t.importing.from, min(at, t.importing.to))
	_, rejects := f.rejects.split(at)
	t.stream = stream{f.track.last, maps.Clone(f.track.states), f.track.ledger.from(at), rejects}
}

// withoutStates returns the names of states without the states, so that a commit removes them.
func withoutStates(states map[string][]byte) map[string][]byte {
	all := map[string][]byte{}
	for name := range states {
		all[name] = nil
	}
	return all
}

// startDayAgain restarts the stream's day if that meets a window: counts below the stream's row have changed.
func (t *track) startDayAgain(w window) {
	if t.stream.row != "" && w.meets(window{t.refold.from, t.refold.from + day}) {
		t.stream = stream{}
	}
}

// clone copies t with its maps and ledger.
func (t *track) clone() *track {
	c := *t
	c.states, c.open, c.again = maps.Clone(t.states), maps.Clone(t.open), maps.Clone(t.again)
	c.stream.states = maps.Clone(t.stream.states)
	if c.again == nil {
		c.again = map[string][]byte{}
	}
	c.ledger = &Ledger{spans: slices.Clone(t.ledger.spans)}
	return &c
}

// remember makes the committed values those that were read.
func (t *track) remember() {
	t.read.marks, t.read.refold, t.read.row, t.read.gap = t.marks, t.refold, t.stream.row, t.gap
	t.read.imported, t.read.importing = t.imported, t.importing
	t.read.spans, t.read.settled = t.spans.String(), t.settled
	t.rebuilt = false
}

// forgetOpen forgets the versions of open windows, because all of them are written again.
func (t *track) forgetOpen(m *fold.Model) {
	for _, processor := range m.Processors {
		if _, ok := processor.Windowed(); ok {
			maps.DeleteFunc(t.open, func(o fold.Output, _ tables.ETag) bool {
				return slices.Contains(processor.Tables, o.Table)
			})
		}
	}
}

// enter enters the counts of a redo into the ledger, as far as the ledger reaches. It returns how many more rows those
// are that were late, and how many rows may be new: besides the late ones those of imports, which are never late. Below
// the floor these are all rows of the import's days. Rows in the gap were counted long ago, and forgotten.
func (t *track) enter(w window, counted *Ledger) (late, fresh int64) {
	if below := (window{w.from, min(w.to, t.floor)}).and(t.importing); !below.empty() {
		fresh = counted.Count(below.from, below.to)
	}
	w.from = max(w.from, t.floor)
	replace := func(part window) (more int64) {
		if part = w.and(part); !part.empty() {
			more = t.ledger.replace(window{w.from, part.to}, counted)
			w.from = part.to
		}
		return more
	}
	moved := window{}
	if len(t.spans) > 0 { // rows of other spans may have been as many
		moved = w.and(t.importing)
	}
	replace(t.gap)
	imported := replace(t.importing)
	fresh += max(imported, counted.Count(moved.from, moved.to), 0)
	more := replace(w)
	t.rows += imported + more
	late = max(more, 0)
	t.late += late
	return late, fresh + late
}

// readStream reads how far a refold has got.
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
	importing, errImporting := parseCursor(f.String(schema.TrackImporting))
	t.importing = importing.window
	t.read.row, t.read.gap, t.read.importing = t.stream.row, t.gap, t.importing
	return errors.Join(err, errImporting, f.Err())
}

// setStream sets the properties that have changed.
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

// refolded reports whether the cursor was set or has moved since the row was read.
func (t *track) refolded() bool {
	return t.refold != t.read.refold || t.stream.row != t.read.row
}
