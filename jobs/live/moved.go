package live

import (
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/coverage"
	"furrow/jobs/fold"
	"furrow/jobs/folding"
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
	if err := awaitAttempts(d); err != nil {
		return false, err
	}
	t.Spans, t.Uncut, d.Look = spans, max(t.Uncut, t.Fence), true
	if t.ETag == "" && !ended {
		return false, nil
	}
	if err := newestBelow(d, at); err != nil || t.Last == "" {
		return true, err
	}
	if ended {
		t.FoldAgain(t.Since(at), coverage.Move)
	} else { // newest values that other rows replaced are found only from the beginning
		t.Rebuild(coverage.Move)
	}
	if at <= tables.TicksBefore(t.Last) { // open windows may be made of rows that are no longer its own
		forgetWindows(d, func(processor fold.Configured) bool { return !processor.Raw }) // it has days that wait
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

// settle seals what lies above the checkpoint of a membership that has ended: all of its rows are folded, and no token
// admits one any more that is as old as its end. With the days below, which audits seal, nothing is left to do then.
// What an attempt without a commit may have left above the checkpoint has been looked at, too: the checkpoint itself
// does not pass it where no row came after.
func settle(d *folding.Device, late time.Duration) {
	t, ends := d.Row, d.Member.Spans.End()
	known := coverage.Known{At: commit.Surely(d.Horizon, 0), Late: late}
	if !d.Ended() || d.Behind || d.Member.Imports.Unknown(t.Imported) || t.Spans.String() != d.Member.Spans.String() ||
		ends > known.At.Add(-late) {
		return
	}
	if t.Uncut != 0 && t.Uncut.Add(commit.Landed) <= d.Horizon {
		t.Uncut, d.Dirty = 0, true
	}
	above := t.Coverage.Watermark
	if t.Last != "" {
		above = tables.TicksBefore(t.Last).Floor(tables.Day) + tables.Day
	}
	if open, _ := t.Coverage.Open(ends); open >= above && open < ends {
		t.Coverage.Seal(coverage.Window{From: above, To: ends}, known)
		d.Dirty = true
	}
}
