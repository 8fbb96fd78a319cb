package jobs

import (
	"furrow/jobs/tracking"
	"furrow/tables"
)

// heedImports has rows folded again that an import has written below the checkpoint, and reports whether it knows more
// imports than before. The membership was read before the rows are, so they are all there. The floor of the ledger
// stays: it says where tokens admit rows that may be late, and none admits those of an import.
func (d *deviceRun) heedImports(now tables.Ticks) bool {
	t := d.Row
	last, from, to := d.Member.Imports.After(t.Imported, now)
	if last == t.Imported {
		return false
	}
	t.Imported = last
	if t.Last == "" {
		return t.ETag != ""
	}
	from, to = max(from.Floor(tables.Day), t.Watermark), min(to, tables.TicksBefore(t.Last)+1)
	c := tracking.Cursor{Window: tracking.Window{From: from, To: to}}
	if !c.Empty() {
		t.FoldAgain(c)
		t.Importing = t.Importing.With(tracking.Window{From: c.From, To: c.To.Ceil(tables.Day)})
	}
	return true
}
