package folding

import (
	"bytes"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// watchTime tells the watchers how far time has passed. Where the device belongs to another tenant, they close what is
// open instead.
func (d *Device) watchTime(until tables.Ticks) (left int, err error) {
	if d.Again || !d.Ended() {
		return d.watch(nil, fold.Moment{Horizon: d.Horizon, Until: until})
	}
	for processor, w := range d.Model.Watchers {
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

// Moved is why the incidents of a device close that now belongs to another tenant.
const Moved = "device moved"

// Ended reports whether the device now belongs to another tenant. The tracking row has the spans of the membership from
// then on, and an audit looks at no others.
func (d *Device) Ended() bool {
	_, differ := d.Row.Spans.Differ(d.Member.Spans)
	return d.Member.Spans.End() != 0 && (d.Horizon == 0 || !differ)
}

// showsNow reports whether an output is about the device as it is now. The former tenant of a device has none.
func (d *Device) showsNow(o fold.Output) bool {
	return o.PartitionKey == schema.LatestPartition{Tenant: d.Member.Tenant, Month: d.Member.Month}.String()
}

// watch calls the watchers with samples, or with time if there are none, and returns how many samples they left. They
// see no row that is folded again.
func (d *Device) watch(samples []fold.Sample, at fold.Moment) (left int, err error) {
	if d.Again || len(samples) == 0 && at.Until == 0 {
		return 0, nil
	}
	at.Known = d.Known
	for processor, w := range d.Model.Watchers {
		state := d.Row.State(processor.Name)
		taken := samples[:len(samples)-left]
		out, err := d.timed(processor, len(taken), func() (fold.Result, error) {
			return w.Watch(d.Member, state, taken, at)
		})
		if err != nil {
			return 0, err
		}
		if !bytes.Equal(out.State, state) {
			d.Row.States[processor.Name], d.Dirty = out.State, true
		}
		left += out.Left
	}
	return left, nil
}

// timed tells onFold about a call of a processor. Without onFold it costs nothing.
func (d *Device) timed(p fold.Configured, rows int, call func() (fold.Result, error)) (fold.Result, error) {
	if d.onFold == nil {
		return call()
	}
	began := time.Now()
	out, err := call()
	d.onFold(fold.Folded{Processor: p.Name, Rows: rows, Outputs: len(out.Effects), Rejects: len(out.Refused),
		Took: time.Since(began)})
	return out, err
}
