package tracking

// Enter enters the counts of a redo into the ledger, as far as the ledger reaches. It returns how many more rows those
// are that were late, and how many rows may be new: besides the late ones those of imports, which are never late. Below
// the floor these are all rows of the import's days. Rows in the gap were counted long ago, and forgotten.
func (t *Row) Enter(w Window, counted *Ledger) (late, fresh int64) {
	if below := (Window{w.From, min(w.To, t.Floor)}).And(t.Importing); !below.Empty() {
		fresh = counted.Count(below.From, below.To)
	}
	w.From = max(w.From, t.Floor)
	replace := func(part Window) (more int64) {
		if part = w.And(part); !part.Empty() {
			more = t.Ledger.replace(Window{w.From, part.To}, counted)
			w.From = part.To
		}
		return more
	}
	moved := Window{}
	if len(t.Spans) > 0 { // rows of other spans may have been as many
		moved = w.And(t.Importing)
	}
	replace(t.Gap)
	imported := replace(t.Importing)
	fresh += max(imported, counted.Count(moved.From, moved.To), 0)
	more := replace(w)
	t.Rows += imported + more
	late = max(more, 0)
	t.late += late
	return late, fresh + late
}

// A Tally counts the rows that were read for an object, and those with a refused value.
type Tally struct{ Read, Refused Ledger }

// Pass enters late rows of a window, which has whole days, into the ledger. If some are refused, or fewer than were
// counted before, it leaves this to an audit, which writes rejects and reports what is gone.
func (t *Row) Pass(w Window, seen *Tally) {
	if w.From < t.Floor {
		return // outside the ledger
	}
	late, _ := t.Ledger.Late(&seen.Read, w)
	for _, l := range late {
		if seen.Refused.Count(l.From, l.To) == 0 {
			t.Rows += t.Ledger.replace(l, &seen.Read)
		}
	}
}
