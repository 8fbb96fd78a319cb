package live

import (
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
// whatever is killed or late, no pipeline needs to be told of a move. A membership without rows gets a tracking row for
// its spans, too: retention keeps the device's rows until all of its memberships have been heeded.
func heedSpans(d *folding.Device, at times) (heeded bool, err error) {
	t, spans := d.Row, d.Member.Spans
	from, differ := t.Spans.Differ(spans)
	ended := spans.End() != 0
	if !differ || spans.End() > d.Horizon {
		return false, nil
	}
	if err := awaitAttempts(d, at); err != nil {
		return false, err
	}
	t.Spans, t.Uncut, d.Look = spans, max(t.Uncut, t.Fence), true
	if err := newestBelow(d, from); err != nil || t.Last == "" {
		return true, err
	}
	if ended {
		t.FoldAgain(t.Since(from), coverage.Move)
	} else { // newest values that other rows replaced are found only from the beginning
		t.Rebuild(coverage.Move)
	}
	if from <= tables.TicksBefore(t.Last) { // open windows may be made of rows that are no longer its own
		forgetWindows(d, func(processor fold.Configured) bool { return !processor.Marks }) // it may have days that wait
	}
	return true, d.OpenWindows()
}

// newestBelow leaves the newest values of readings before a time, of sensors that the settings know, and has their
// outputs written.
func newestBelow(d *folding.Device, at tables.Ticks) error {
	for _, processor := range d.Model.Processors {
		m, ok := processor.Fold.(fold.Merging)
		if !ok {
			continue
		}
		state := d.Row.State(processor.Name)
		if state != nil {
			var err error
			if state, err = m.Below(state, at, d.Model.Sensors.Makes); err != nil {
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
