package folding

import (
	"bytes"
	"slices"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A rowRead is a row as processors see it.
type rowRead struct {
	foreign bool  // another tenant had the device
	err     error // why it is no reading
	refused []fold.Refusal
}

// history is how old a row of an import is, when it is found, that is about the past.
const history = tables.Hour

// foldRows folds rows and moves the device's checkpoint, in memory. It returns how many rows it took: a Watcher may
// have no room for all of them.
func (d *Device) foldRows(rows []tables.Entity) (taken int, err error) {
	samples := make([]fold.Sample, 0, len(rows))
	var foreign []fold.Sample // rows of other tenants, without values
	read := make([]rowRead, len(rows))
	of := make([]int, 0, len(rows)) // row of each sample
	for i := range rows {
		r, err := schema.ReadingOf(rows[i])
		read[i].foreign = !d.Member.Has(tables.TicksBefore(rows[i].RowKey))
		if read[i].err = err; err != nil {
			continue
		}
		if read[i].foreign {
			foreign = append(foreign, fold.Sample{Key: r.Key})
			continue
		}
		var sample fold.Sample
		sample, read[i].refused = d.Model.Sensors.Sample(r)
		sample.Bytes, sample.Past = rows[i].Size(), r.Key.Ticks < d.Horizon-history && d.Member.Imports.Cover(r.Key.Ticks)
		samples, of = append(samples, sample), append(of, i)
	}
	left, err := d.watch(samples, fold.Moment{Horizon: d.Horizon})
	if err != nil {
		return 0, err
	}
	if n := len(samples) - left; n < len(samples) {
		rows, samples = rows[:of[n]], samples[:n]
	}
	byKey := d.moveCheckpoint(rows, read)
	for _, processor := range d.Model.Processors {
		if processor.Once || d.Again && !processor.Refolds() {
			continue
		}
		all := samples
		if processor.Marks && len(foreign) > 0 { // their days are made again
			all = slices.SortedFunc(slices.Values(slices.Concat(samples, foreign)), func(a, b fold.Sample) int {
				return a.Key.Compare(b.Key)
			})
		}
		out, err := d.timed(processor, len(all), func() (fold.Result, error) {
			return processor.Fold.Fold(d.Member, d.Row.State(processor.Name), all)
		})
		if err != nil {
			return 0, err
		}
		if _, merging := processor.Fold.(fold.Merging); d.Again && merging {
			out.Effects = nil // they cover these rows alone
		}
		if err := d.Take(processor, out, byKey); err != nil {
			return 0, err
		}
		if err := d.emptied(processor, out, foreign); err != nil {
			return 0, err
		}
	}
	d.countRejects()
	return len(rows), nil
}

// emptied has the windows emptied that may have been made of other tenants' rows, by an attempt that took them for the
// device's own, unless the device has rows of its own there.
func (d *Device) emptied(processor fold.Configured, own fold.Result, foreign []fold.Sample) error {
	w, windowed := processor.Windowed()
	if !windowed || processor.Marks || len(foreign) == 0 {
		return nil
	}
	out, err := w.Fold(d.Member, nil, foreign)
	if err != nil {
		return err
	}
	last, err := w.Open(d.Member, out.State)
	if err != nil {
		return err
	}
	is := slices.Clone(own.Effects)
	if len(own.State) > 0 {
		open, err := w.Open(d.Member, own.State)
		if err != nil {
			return err
		}
		is = append(is, open...)
	}
	all := slices.DeleteFunc(append(out.Effects, last...), func(e fold.Effect) bool {
		return slices.ContainsFunc(is, func(o fold.Effect) bool { return o.Output == e.Output })
	})
	for i := range all {
		all[i].Closed = true // no state knows that it is open
	}
	return d.EffectsOf(processor, all)
}

// moveCheckpoint counts rows, moves the checkpoint to the last of them, and refuses what is no value.
func (d *Device) moveCheckpoint(rows []tables.Entity, read []rowRead) (byKey map[string]*tables.Entity) {
	byKey = make(map[string]*tables.Entity, len(rows))
	for i := range rows {
		e := &rows[i]
		byKey[e.RowKey] = e
		d.Bytes, d.Arrived = d.Bytes+e.Size(), max(d.Arrived, e.Timestamp)
		d.Row.Last = e.RowKey
		if read[i].foreign {
			continue
		}
		d.Row.Ledger.Add(e.RowKey)
		d.Row.Rows++
		if err := read[i].err; err != nil {
			d.refuse(fold.Refusal{Row: e.RowKey, Reason: err.Error()}, e)
		} else {
			d.acknowledge(e)
		}
		for _, r := range read[i].refused {
			d.refuse(r, e)
		}
	}
	d.Folded += len(rows)
	return byKey
}

// Close tells the processors that wait for it how far time has passed.
func (d *Device) Close(until tables.Ticks) error {
	left, err := d.watchTime(until)
	if err != nil {
		return err
	}
	d.Behind = d.Behind || left > 0
	for _, processor := range d.Model.Processors {
		closer, ok := processor.Fold.(fold.Closer)
		state := d.Row.States[processor.Name]
		if !ok || state == nil {
			continue
		}
		out, err := d.timed(processor, 0, func() (fold.Result, error) { return closer.Close(d.Member, state, until) })
		if err != nil {
			return err
		}
		d.Dirty = d.Dirty || len(out.Effects) > 0 || !bytes.Equal(out.State, state)
		if err := d.Take(processor, out, nil); err != nil {
			return err
		}
		if out, err = closer.Close(d.Member, out.State, until); err != nil {
			return err
		}
		d.Behind = d.Behind || len(out.Effects) > 0 // the next job writes those
	}
	d.countRejects()
	return nil
}
