package rollup

import (
	"fmt"
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// BucketsTable has the buckets of reported windows once more: by time instead of by device, with the times of their
// first and last numbers, and with the number and bytes of the device's rows, which may have no number at all. A report
// of a bucket reads one range of it.
const BucketsTable = schema.BucketsTable

// Paces at which open buckets are written for reports. Each time costs a transaction for a batch, and the report is
// made again. The times are the same for all devices, so that those of a batch share transactions.
const (
	shortPace = tables.Ticks(5 * time.Minute / 100) // of windows up to an hour
	longPace  = tables.Ticks(time.Hour / 100)
)

func pace(w schema.Window) tables.Ticks {
	if w <= schema.Hour {
		return shortPace
	}
	return longPace
}

var _ fold.Closer = (*Fold)(nil)

// Close writes buckets for reports: those that have ended, and open ones at the pace of reports. So a device that falls
// silent is reported, too.
func (f *Fold) Close(d schema.Member, state []byte, until tables.Ticks) (fold.Result, error) {
	if len(f.reported) == 0 || len(state) == 0 {
		return fold.Result{State: state}, nil
	}
	st, err := f.decode(state)
	if err != nil {
		return fold.Result{}, fmt.Errorf("rollup of %s: %w", d.Device, err)
	}
	work := foldRun{fold: f, member: d, state: st}
	for i := range st.open {
		if b := &st.open[i]; f.reports(b.window) && b.due(until) {
			work.report(b, until, false)
		}
	}
	if len(work.out.Effects) == 0 {
		return fold.Result{State: state}, nil
	}
	work.out.State = f.encode(st)
	return work.out, nil
}

// Next returns when a bucket of a state is to be written next for reports.
func (f *Fold) Next(state []byte) (tables.Ticks, error) {
	next := tables.MaxTicks
	if len(f.reported) == 0 || len(state) == 0 {
		return next, nil
	}
	st, err := f.decode(state)
	if err != nil {
		return 0, fmt.Errorf("rollup: %w", err)
	}
	for i := range st.open {
		switch b := &st.open[i]; {
		case !f.reports(b.window):
		case b.pending:
			next = min(next, (b.reported/pace(b.window)+1)*pace(b.window), b.endsAt())
		case b.reported > 0 && b.reported < b.endsAt():
			next = min(next, b.endsAt())
		}
	}
	return next, nil
}

func (f *Fold) reports(w schema.Window) bool { return slices.Contains(f.reported, w) }

// due reports whether a bucket is to be written for reports when all readings until a time are folded.
func (b *bucket) due(until tables.Ticks) bool {
	if until >= b.endsAt() {
		return b.pending || b.reported > 0 && b.reported < b.endsAt()
	}
	return b.pending && until/pace(b.window) > b.reported/pace(b.window)
}

// report asks for a bucket to be written for reports.
func (w *foldRun) report(b *bucket, until tables.Ticks, closed bool) {
	d := w.member
	e := fold.Effect{Closed: closed, From: b.start, To: b.endsAt(), Output: fold.Output{
		Table: BucketsTable,
		PartitionKey: schema.RollupPartition{Tenant: d.Tenant, Window: b.window, Day: schema.DayOf(b.start),
			Month: d.Month}.String(),
		RowKey: schema.BucketRow{Bucket: b.start, Device: d.Device}.String(),
	}}
	e.Mark = schema.Mark{Kind: schema.ReportMark, Tenant: d.Tenant, Name: schema.ReportedBucket{Window: b.window,
		Start: b.start}.String()}
	e.Properties = []tables.Property{} // none where no row was the device's
	if b.stored.Rows > 0 {
		e.Properties = append(e.Properties, tables.Property{Name: schema.StoredProperty,
			Value: tables.String(b.stored.String())})
	}
	for i, a := range b.aggregates {
		if a.Count > 0 {
			e.Properties = append(e.Properties, tables.Property{Name: w.state.names[i], Value: tables.String(a.String())})
		}
	}
	if len(e.Properties) > 0 {
		e.Properties = append(e.Properties, schema.PlacementProperties(d, b.start)...)
	}
	b.pending, b.reported = false, until
	w.out.Effects = append(w.out.Effects, e)
}

// reportClosed reports a bucket that gets no more samples, if that was not done when it ended.
func (w *foldRun) reportClosed(b *bucket) {
	due := b.due(b.endsAt()) || b.sensors == 0 && b.stored.Rows == 0
	w.report(b, b.endsAt(), true)
	if !due { // it was written when it ended
		last := &w.out.Effects[len(w.out.Effects)-1]
		last.Properties, last.Mark = nil, schema.Mark{}
	}
}
