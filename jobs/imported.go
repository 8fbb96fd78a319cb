package jobs

import (
	"furrow/tables"
	"furrow/tables/schema"
)

// heedImports has rows folded again that an import has written below the checkpoint, and reports whether it knows more
// imports than before. The membership was read before the rows are, so they are all there. The floor of the ledger
// stays: it says where tokens admit rows that may be late, and none admits those of an import.
func (d *deviceRun) heedImports(now tables.Ticks) bool {
	t := d.track
	last, from, to := d.member.Imports.After(t.imported, now)
	if last == t.imported {
		return false
	}
	t.imported = last
	if t.last == "" {
		return t.etag != ""
	}
	c := cursor{window: window{max(floorTo(from, day), t.watermark), min(to, TicksBefore(t.last)+1)}}
	if !c.empty() {
		t.foldAgain(c)
		t.importing = t.importing.with(window{c.from, ceilTo(c.to, day)})
	}
	return true
}

// setImports sets the properties of imports that have changed.
func (t *track) setImports(e *tables.Entity) {
	if t.imported != t.read.imported {
		e.Set(schema.TrackImported, tables.Int64(int64(t.imported)))
	}
	if t.importing != t.read.importing {
		e.Set(schema.TrackImporting, tables.String(cursor{window: t.importing}.String()))
	}
}

// with returns the window that covers both.
func (w window) with(o window) window { return cursor{window: w}.with(cursor{window: o}).window }
