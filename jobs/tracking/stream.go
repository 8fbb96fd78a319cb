package tracking

import (
	"errors"
	"maps"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Stream is how far the folding of a refold cursor has got: the second checkpoint of a device, which goes through
// what the first one has passed.
type Stream struct {
	Row     string            // last row that is folded; empty at the start of the cursor
	States  map[string][]byte // of windowed processors, at row
	Counted *Ledger           // rows of row's day
	Rejects Rejects           // of row's day, not in the ring yet: how many of them are late is still unknown
}

// FoldAgain has a range folded again, as far as its rows are kept. A stream that is beyond its start continues with
// that day.
func (t *Row) FoldAgain(c Cursor) {
	c.From = max(c.From.Floor(tables.Day), t.Watermark)
	if c.Empty() {
		return
	}
	if t.Refold.Empty() || c.From <= t.Refold.From {
		t.Stream = Stream{}
	}
	if t.Refold.Empty() || c.Rebuild {
		t.Again, t.Rebuilt = withoutStates(t.Again), true
	}
	t.Refold = t.Refold.with(c)
}

// Passed moves the cursor past a portion. It is done when the stream has reached its end.
func (t *Row) Passed(f *Row, of Rejects, done bool) {
	if done {
		t.Refold, t.Stream, t.Gap, t.Importing = Cursor{}, Stream{}, Window{}, Window{}
		t.Again, t.Rebuilt = withoutStates(t.Again), true
		return
	}
	at := tables.TicksBefore(f.Last).Floor(tables.Day)
	t.Refold.From = at                   // lower than before if the open windows begin there
	t.Refold.To = max(t.Refold.To, at+1) // with open windows, a portion may end beyond the cursor, and there is more
	t.Gap.From = max(t.Gap.From, min(at, t.Gap.To))
	t.Importing.From = max(t.Importing.From, min(at, t.Importing.To))
	_, rejects := of.Split(at)
	t.Stream = Stream{f.Last, maps.Clone(f.States), f.Ledger.from(at), rejects}
}

// withoutStates returns the names of states without the states, so that a commit removes them.
func withoutStates(states map[string][]byte) map[string][]byte {
	all := map[string][]byte{}
	for name := range states {
		all[name] = nil
	}
	return all
}

// StartDayAgain restarts the stream's day if that meets a window: counts below the stream's row have changed.
func (t *Row) StartDayAgain(w Window) {
	if t.Stream.Row != "" && w.Meets(Window{t.Refold.From, t.Refold.From + tables.Day}) {
		t.Stream = Stream{}
	}
}

// Clone copies t with its maps and ledger.
func (t *Row) Clone() *Row {
	c := *t
	c.States, c.Open, c.Again = maps.Clone(t.States), maps.Clone(t.Open), maps.Clone(t.Again)
	c.Stream.States = maps.Clone(t.Stream.States)
	if c.Again == nil {
		c.Again = map[string][]byte{}
	}
	c.Ledger = t.Ledger.Clone()
	return &c
}

// readStream reads how far a refold has got.
func (t *Row) readStream(e tables.Entity) (err error) {
	f := e.Fields()
	t.Stream.Row = f.String(schema.TrackRefoldRow)
	if t.Stream.Counted, err = ParseLedger(f.Binary(schema.TrackRefoldLedger)); err != nil {
		return err
	}
	if t.Stream.Rejects, err = parseRejects(f.Binary(schema.TrackRefoldRejects)); err != nil {
		return err
	}
	if t.Stream.States, err = statesOf(&e, schema.TrackRefolded); err != nil {
		return err
	}
	if t.Again, err = statesOf(&e, schema.TrackRebuilt); err != nil {
		return err
	}
	gap, err := parseCursor(f.String(schema.TrackRegained))
	t.Gap = gap.Window
	importing, errImporting := parseCursor(f.String(schema.TrackImporting))
	t.Importing = importing.Window
	return errors.Join(err, errImporting, f.Err())
}
