package tracking

import (
	"maps"

	"furrow/jobs/coverage"
	"furrow/tables"
	"furrow/tables/schema"
)

// FoldAgain has the days of a window made again, as far as their rows are kept. A stream that is beyond its start
// begins again when it gets there.
func (t *Row) FoldAgain(w coverage.Window, why coverage.Reason) {
	if w.From = max(w.From.Floor(tables.Day), t.Coverage.Watermark); w.Empty() {
		return
	}
	if w.From <= t.Coverage.Next().From {
		t.Stream = Stream{}
	}
	t.Coverage.Stale(w, why)
}

// Rebuild has all days up to the checkpoint made again, and merging outputs made of nothing but those.
func (t *Row) Rebuild(why coverage.Reason) {
	t.ForgetAgain()
	t.Stream = Stream{}
	t.Coverage.Rebuild(tables.TicksBefore(t.Last)+1, why)
}

// Reopen has sealed days made again where rows were counted after all: a clock was wrong when they were sealed.
func (t *Row) Reopen() {
	_, sealed := t.Coverage.SealedTo()
	for _, s := range t.Ledger.spans {
		if s.start >= sealed {
			break
		}
		t.Coverage.Unseal(s.window(), coverage.Uncounted)
	}
}

// ForgetAgain forgets what was rebuilt so far, or is in place by now.
func (t *Row) ForgetAgain() { t.Again, t.Rebuilt = withoutStates(t.Again), true }

// Passed notes that a portion of a window is made again: all of it, or what is before the last row of f.
func (t *Row) Passed(w coverage.Window, f *Row, of Rejects, done bool) {
	if done {
		t.Coverage.Made(w)
		t.Stream = Stream{}
		return
	}
	at := tables.TicksBefore(f.Last).Floor(tables.Day)
	t.Coverage.Made(coverage.Window{From: w.From, To: at})
	if today := (coverage.Window{From: at, To: at + 1}); !t.Coverage.Parts(today)[0].Stale() { // of open windows
		t.Coverage.Stale(today, coverage.Begun)
	}
	_, rejects := of.Split(at)
	rejects.Known = rejects.Known.after(f.Last)
	t.Stream = Stream{f.Last, maps.Clone(f.States), f.Ledger.From(at), rejects}
}

// Since returns the window from a time up to the checkpoint.
func (t *Row) Since(from tables.Ticks) coverage.Window {
	return coverage.Window{From: max(from, t.Coverage.Watermark), To: tables.TicksBefore(t.Last) + 1}
}

// SameIn reports whether nobody has made days again since old was read, or had them made, and counted other rows in a
// window.
func (t *Row) SameIn(w coverage.Window, old *Row, now tables.Ticks) bool {
	w.To = min(w.To, tables.TicksBefore(old.Last).Floor(tables.Hour)) // the live job may count beyond
	return t.Coverage.Same(old.Coverage) && t.Stream.Row == old.Stream.Row && t.Ledger.equalIn(old.Ledger, w, now)
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
func (t *Row) StartDayAgain(w coverage.Window) {
	if day := tables.TicksBefore(t.Stream.Row).Floor(tables.Day); t.Stream.Row != "" &&
		w.Meets(coverage.Window{From: day, To: day + tables.Day}) {
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
	if t.Stream.Rejects.Known, err = parseKnown(f.Binary(schema.TrackRefoldKnown)); err != nil {
		return err
	}
	if t.Stream.States, err = statesOf(&e, schema.TrackRefolded); err != nil {
		return err
	}
	if t.Again, err = statesOf(&e, schema.TrackRebuilt); err != nil {
		return err
	}
	day := tables.TicksBefore(t.Stream.Row).Floor(tables.Day)
	if t.Stream.Row != "" && day != t.Coverage.Next().From.Floor(tables.Day) {
		t.Stream = Stream{} // the first stale day is another one by now
	}
	return f.Err()
}
