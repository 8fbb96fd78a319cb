package live

import (
	"time"

	"furrow/jobs/coverage"
	"furrow/jobs/folding"
	"furrow/jobs/tracking"
	"furrow/tables"
)

// A recount finds the late rows of a device that sends rarely. The request for its new rows begins before the
// checkpoint, and what it returns from there is compared with the ledger:
//
//	rows     ──•───•───•──◦─•───•───•───┼───•──►        ◦ came after the checkpoint had passed it
//	         from                  checkpoint
//	ledger     └1┘ └1┘ └─1──┘ └1┘ └1┘
//	storage    └1┘ └1┘ └─2──┘ └1┘ └1┘                    one is late
//
// So the next look finds the row, and not the next audit, and audits need not ask for the rows of the last hours once
// more: with a reading every half an hour they would ask more often than the looks do. It is for devices that state how
// often they send: others are looked at in every run, and each time those rows would be read again.
type recount struct {
	at, from tables.Ticks
	ledger   *tracking.Ledger // from there on, before the new rows
}

// recountOf returns what is counted again of a device that jobs look at every so often; a zero from: nothing. If the
// device waits for other work, late rows wait for an audit.
func recountOf(d *folding.Device, now tables.Ticks, every time.Duration) (r recount) {
	t := d.Row
	if d.Known.Every == 0 || t.Uncut != 0 && t.Uncut.String() > t.Last || t.Chain.ID != "" || !t.Coverage.Next().Empty() {
		return r
	}
	if r.at, r.from = now, t.RecountFrom(now, every); r.from != 0 {
		r.ledger, d.Recount = t.Ledger.From(r.from), &tracking.Ledger{}
	}
	return r
}

// rows returns the keys to read for new ones.
func (r recount) rows(unread tables.Keys) tables.Keys {
	if from := r.from.String(); r.from != 0 && from <= unread.After {
		unread.From, unread.After = from, ""
	}
	return unread
}

// end has days made again for which late rows were found, and notes when those were looked for.
func (r recount) end(d *folding.Device) {
	if r.from == 0 || d.Behind {
		return
	}
	d.Row.Recounted = r.at
	counted := d.Row.Counted(coverage.Window{From: r.from, To: tables.MaxTicks}, d.Member.Imports)
	late, _ := r.ledger.Late(d.Recount, counted)
	for _, w := range late {
		d.Row.FoldAgain(w, coverage.Late)
		d.Dirty = true
	}
}
