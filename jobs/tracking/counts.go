package tracking

import (
	"furrow/jobs/coverage"
	"furrow/tables"
	"furrow/tables/schema"
)

// Covered returns the coverage of a device with the imports that the pipeline does not know yet. The next run has their
// rows folded, which are not late.
func (t *Row) Covered(imports schema.Imports) coverage.Coverage {
	c := t.Coverage
	for _, i := range imports {
		if i.ID > t.Imported {
			c.Stale(coverage.Window{From: i.From, To: i.To}, coverage.Import)
		}
	}
	return c
}

// Reached returns the part of a window in which the checkpoint has passed days, the last one in part.
func (t *Row) Reached(w coverage.Window) coverage.Window {
	return w.And(coverage.Window{To: tables.TicksBefore(t.Last).Floor(tables.Day) + tables.Day})
}

// Counted returns the parts of a window that the checkpoint has passed where each row in storage that the ledger does
// not count is late.
func (t *Row) Counted(w coverage.Window, imports schema.Imports) []coverage.Window {
	return t.Covered(imports).Counted(t.Reached(w))
}

// Enter enters the counts of a redo into the ledger, but for days that are sealed: those need none. It returns how many
// more rows those are that were late, and how many rows may be new: besides the late ones those of imports and moves,
// which are never late. Rows of a day that was sealed were counted long ago, and forgotten.
func (t *Row) Enter(w coverage.Window, counted *Ledger) (late, fresh int64) {
	for _, p := range t.Coverage.Parts(w) {
		brought := p.Why&(coverage.Import|coverage.Move) != 0
		if p.Sealed {
			if brought {
				fresh += counted.Count(p.From, p.To)
			}
			continue
		}
		more := t.Ledger.replace(p.Window, counted)
		switch {
		case p.Why&coverage.Move != 0: // rows of other spans may have been as many
			fresh += counted.Count(p.From, p.To)
		case brought:
			fresh += max(more, 0)
		case p.Why&coverage.Uncounted != 0:
			continue
		default:
			late += max(more, 0)
		}
		t.Rows += more
	}
	t.late += late
	return late, late + fresh
}

// A Tally counts the rows that were read for an object, and those with a refused value.
type Tally struct{ Read, Refused Ledger }

// Pass enters late rows of a window, which has whole days, into the ledger. If some are refused, or fewer than were
// counted before, it leaves this to an audit, which writes rejects and reports what is gone.
func (t *Row) Pass(w coverage.Window, seen *Tally) {
	late, _ := t.Ledger.Late(&seen.Read, t.Coverage.Counted(w))
	for _, l := range late {
		if seen.Refused.Count(l.From, l.To) == 0 {
			t.Rows += t.Ledger.replace(l, &seen.Read)
		}
	}
}
