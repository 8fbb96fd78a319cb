package folding

import (
	"bytes"
	"time"

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

// foldRows folds rows and moves the device's checkpoint, in memory. It returns how many rows it took: a Watcher may
// have no room for all of them.
func (d *Device) foldRows(rows []tables.Entity) (taken int, err error) {
	samples := make([]fold.Sample, 0, len(rows))
	var touched []fold.Sample // with those of other tenants, without values; nil if there are none
	read := make([]rowRead, len(rows))
	of := make([]int, 0, len(rows)) // row of each sample
	for i := range rows {
		r, err := schema.ReadingOf(rows[i])
		read[i].foreign = !d.Member.Has(tables.TicksBefore(rows[i].RowKey))
		if read[i].foreign && touched == nil {
			touched = append(make([]fold.Sample, 0, len(rows)), samples...)
		}
		if read[i].err = err; err != nil {
			continue
		}
		if read[i].foreign {
			touched = append(touched, fold.Sample{Key: r.Key})
			continue
		}
		var sample fold.Sample
		sample, read[i].refused = d.Model.Sensors.Sample(r)
		sample.Bytes = rows[i].Size()
		samples, of = append(samples, sample), append(of, i)
		if touched != nil {
			touched = append(touched, sample)
		}
	}
	left, err := d.watch(samples, fold.Moment{Horizon: d.Horizon})
	if err != nil {
		return 0, err
	}
	if n := len(samples) - left; n < len(samples) {
		rows, samples = rows[:of[n]], samples[:n]
	}
	byKey := d.pass(rows, read)
	for _, processor := range d.Model.Processors {
		if processor.Once || d.Again && !processor.Refolds() {
			continue
		}
		all := samples
		if _, windowed := processor.Windowed(); windowed && touched != nil {
			all = touched // its windows may have been made of them
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
	}
	d.countRejects()
	return len(rows), nil
}

// pass counts rows, moves the checkpoint to the last of them, and refuses what is no value.
func (d *Device) pass(rows []tables.Entity, read []rowRead) (byKey map[string]*tables.Entity) {
	byKey = make(map[string]*tables.Entity, len(rows))
	for i := range rows {
		e := &rows[i]
		byKey[e.RowKey] = e
		d.Bytes += e.Size()
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
