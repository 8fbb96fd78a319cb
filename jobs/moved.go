package jobs

import (
	"bytes"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// Moved is why the incidents of a device close that now belongs to another tenant.
const Moved = "device moved"

// heedSpans has rows folded again that a move gave to the tenant or took from it, and reports whether the spans of the
// membership have changed. A span that has ended counts once every row in it can be folded.
//
// The tracking row says for which spans it was folded, and is read before the membership. So a job that read the
// membership before a move commits the old spans with what it has folded, and the next job finds the difference:
// whatever is killed or late, no pipeline needs to be told of a move.
func (d *deviceRun) heedSpans() (heeded bool, err error) {
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
	if err := d.newestBelow(at); err != nil || t.Last == "" {
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
	return true, d.openWindows()
}

// newestBelow leaves the newest values of readings before a time, and has their outputs written.
func (d *deviceRun) newestBelow(at tables.Ticks) error {
	for _, processor := range d.model.Processors {
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
			err = d.take(processor, out, nil)
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
func (d *deviceRun) parts(rows tables.Keys) []tables.Keys {
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

// ended reports whether the device now belongs to another tenant. The tracking row has the spans of the membership from
// then on, and an audit looks at no others.
func (d *deviceRun) ended() bool {
	_, differ := d.Row.Spans.Differ(d.Member.Spans)
	return d.Member.Spans.End() != 0 && (d.Horizon == 0 || !differ)
}

// showsNow reports whether an output is about the device as it is now. The former tenant of a device has none.
func (d *deviceRun) showsNow(o fold.Output) bool {
	return o.PartitionKey == schema.LatestPartition{Tenant: d.Member.Tenant, Month: d.Member.Month}.String()
}

// watchTime tells the watchers how far time has passed. Where the device belongs to another tenant, they close what is
// open instead.
func (d *deviceRun) watchTime(until tables.Ticks) (left int, err error) {
	if d.again || !d.ended() {
		return d.watch(nil, fold.Moment{Horizon: d.Horizon, Until: until})
	}
	for processor, w := range d.model.Watchers {
		was := d.Row.State(processor.Name)
		state, _, err := w.Leave(d.Member, was, d.Horizon, Moved)
		if err != nil {
			return 0, err
		}
		if !bytes.Equal(state, was) {
			d.Row.States[processor.Name], d.Dirty = state, true
		}
	}
	return 0, nil
}

// settle notes that nothing is left to do for a membership that has ended: everything is folded, and no
// token admits a row any more that is as old as the end of its last span.
func (d *deviceRun) settle(late time.Duration) {
	t := d.Row
	t.Settled = d.ended() && !d.Behind && len(t.Ledger.Spans()) == 0 && t.Refold.Empty() && t.Gap.Empty() &&
		!d.Member.Imports.Unknown(t.Imported) && t.Spans.String() == d.Member.Spans.String() &&
		d.Member.Spans.End() <= d.Horizon.Add(-late)
	d.Dirty = d.Dirty || t.Settled != t.Read.Settled
}
