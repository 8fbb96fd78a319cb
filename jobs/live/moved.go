package live

import (
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/folding"
	"furrow/jobs/tracking"
	"furrow/tables"
)

// heedSpans has rows folded again that a move gave to the tenant or took from it, and reports whether the spans of the
// membership have changed. A span that has ended counts once every row in it can be folded.
//
// The tracking row says for which spans it was folded, and is read before the membership. So a job that read the
// membership before a move commits the old spans with what it has folded, and the next job finds the difference:
// whatever is killed or late, no pipeline needs to be told of a move.
func heedSpans(d *folding.Device) (heeded bool, err error) {
	t, spans := d.Row, d.Member.Spans
	at, differ := t.Spans.Differ(spans)
	ended := spans.End() != 0
	if !differ || spans.End() > d.Horizon {
		return false, nil
	}
	t.Spans, t.Uncut, d.Look = spans, max(t.Uncut, t.Fence), true
	if t.ETag == "" && !ended {
		return false, nil
	}
	if err := newestBelow(d, at); err != nil || t.Last == "" {
		return true, err
	}
	c := tracking.Cursor{Window: tracking.Window{From: at, To: tables.TicksBefore(t.Last) + 1}}
	if !ended { // newest values that other rows replaced are found only from the beginning
		c.From, c.Rebuild = 0, true
	}
	t.FoldAgain(c)
	if c.From = max(c.From.Floor(tables.Day), t.Watermark); !c.Empty() {
		t.Importing = t.Importing.With(tracking.Window{From: c.From, To: c.To.Ceil(tables.Day)})
	}
	return true, d.OpenWindows()
}

// newestBelow leaves the newest values of readings before a time, and has their outputs written.
func newestBelow(d *folding.Device, at tables.Ticks) error {
	for _, processor := range d.Model.Processors {
		m, ok := processor.Fold.(fold.Merging)
		if !ok {
			continue
		}
		state := d.Row.State(processor.Name)
		if state != nil {
			var err error
			if state, err = m.Below(state, at, func(string) bool { return true }); err != nil {
				return err
			}
		}
		out, err := m.Merge(d.Member, state, nil, 0)
		if err == nil {
			err = d.Take(processor, out, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parts returns the parts of a range of rows that a device job reads: those in the spans, and those that an attempt
// without a commit may have made outputs of, under other spans or settings. It wrote them after it had claimed the
// device, and read no later rows.
func parts(d *folding.Device, rows tables.Keys) []tables.Keys {
	uncut := d.Row.Uncut.String()
	if d.Row.Uncut == 0 || uncut <= d.Row.Last {
		return d.Member.Spans.Within(rows)
	}
	d.Look = true
	if len(d.Member.Spans) == 0 || uncut >= rows.To {
		return []tables.Keys{rows}
	}
	first, rest := rows, rows
	first.To, rest.From, rest.After = uncut, "", uncut
	return append([]tables.Keys{first}, d.Member.Spans.Within(rest)...)
}

// settle notes that nothing is left to do for a membership that has ended: everything is folded, and no
// token admits a row any more that is as old as the end of its last span.
func settle(d *folding.Device, late time.Duration) {
	t := d.Row
	t.Settled = d.Ended() && !d.Behind && len(t.Ledger.Spans()) == 0 && t.Refold.Empty() && t.Gap.Empty() &&
		!d.Member.Imports.Unknown(t.Imported) && t.Spans.String() == d.Member.Spans.String() &&
		d.Member.Spans.End() <= d.Horizon.Add(-late)
	d.Dirty = d.Dirty || t.Settled != t.Was.Settled
}
