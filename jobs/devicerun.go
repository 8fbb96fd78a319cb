package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/fold"
	"furrow/jobs/tracking"
	"furrow/tables"
	"furrow/tables/schema"
)

// A deviceRun is a job's work on one device.
type deviceRun struct {
	commit.Device
	model   *fold.Model
	refused map[string]*schema.Reject // of rows being folded, by RowKey
	rows    int                       // rows folded
	told    []fold.Effect             // commands in the committed states, to be sent
	bytes   int                       // bytes of the folded rows
	brief   tables.Ticks              // a page of rows that begins earlier is left to a chain, with all after it; or 0
	full    int                       // bytes after which other rows are left to another job; 0: no bound
	weight  int                       // approximate bytes of effects and rejects
	again   bool                      // rows are folded again: skip processors that take each row once
	left    bool                      // it is so far behind that all of its rows are left to a chain
	posted  bool                      // what an earlier job had committed was posted
	began   time.Time                 // when folding began
	onFold  func(fold.Folded)         // may be nil
}

func (p *Pipeline) newDeviceRun(m schema.Member, t *tracking.Row) *deviceRun {
	model := p.modelOf(m)
	return &deviceRun{Device: commit.NewDevice(m, t, &model.Sensors), model: model, onFold: p.OnFold}
}

// on returns a run of the same device on another track.
func (d *deviceRun) on(t *tracking.Row) *deviceRun {
	return &deviceRun{Device: commit.NewDevice(d.Member, t, d.Sensors), model: d.model, onFold: d.onFold}
}

// changes returns what is to be written of devices.
func changes(work []*deviceRun) (all []*commit.Device) {
	for _, d := range work {
		all = append(all, &d.Device)
	}
	return all
}

// maxWeight is how many bytes of effects and refusals a job gathers before it writes. Rows of hundreds of sensors that
// are far apart make much more of these than their own size. In memory they are several times as large, in each of the
// jobs that run at a time: after days without a worker, that is most of its memory.
const maxWeight = 2 << 20

// maxBytes is how many bytes of rows a job folds of a device, give or take a chunk. 5,000 rows of six sensors have 2
// MiB; as many of the largest rows have 5 GiB, and the other devices of the batch would wait for all of them.
const maxBytes = 8 << 20

// fold reads at most so many rows of a device from its checkpoint to the horizon, and folds them page by page, so it
// holds no more than a page. An error of the device concerns no other; an error of reading is the job's.
func (p *Pipeline) fold(ctx context.Context, d *deviceRun, horizon tables.Ticks, most, heaviest int) error {
	defer d.rescue()
	d.Horizon, d.began = horizon, time.Now()
	heeded := d.heedSettings()
	moved, err := d.heedSpans()
	if d.Err = err; err != nil {
		return nil
	}
	heeded = d.heedImports(horizon) || moved || heeded
	rows := tables.RowsAfter(string(d.Member.Device), d.Row.Last, horizon.String())
	if below := d.Row.Watermark.String(); d.Row.Watermark > 0 && d.Row.Last < below {
		rows.Rows.After, rows.Rows.From = "", below
	}
	d.full = maxBytes
	if d.Row.Chain.ID == "" {
		d.brief = horizon.Add(-p.longBehind())
	}
	for _, rows.Rows = range d.parts(rows.Rows) {
		if err := p.foldRange(ctx, d, rows, most, heaviest); err != nil || d.Err != nil {
			return err
		}
		if d.Behind || d.left {
			break
		}
	}
	if d.left {
		d.ClearMarks()
		return nil
	}
	d.Dirty = d.rows > 0 || heeded || d.posted
	until := horizon
	if d.Behind {
		until = tables.TicksBefore(d.Row.Last)
	}
	if d.Look && d.Err == nil { // an open window without rows of its own may have outputs, too
		d.Err = d.openWindows()
	}
	if d.Err == nil {
		d.Err = d.close(until)
	}
	if d.Err == nil {
		d.ClearMarks()
		d.settle(p.late(d.Member))
	}
	if d.rows > 0 {
		d.Row.Batch = tracking.Batch{Rows: d.rows, Took: time.Since(d.began)}
	}
	return nil
}

// foldLimit bounds how long a job folds one device. Samples are bounded, so only a fault of a processor, or a machine
// that stands still, takes so long.
const foldLimit = 5 * time.Minute

// tooLong is called between chunks of rows.
func (d *deviceRun) tooLong() error {
	if d.began.IsZero() {
		d.began = time.Now()
	}
	if took := time.Since(d.began); took > foldLimit {
		return fmt.Errorf("%d rows were folded in %v, which is too long; the last one is %s", d.rows, took.Round(time.Second),
			tables.Quote(d.Row.Last))
	}
	return nil
}

// rescue makes a panic of a fold the error of its device.
func (d *deviceRun) rescue() {
	if r := recover(); r != nil {
		d.Err = fmt.Errorf("panic in a fold: %v\n%s", r, debug.Stack())
	}
}

// foldRange folds the rows of a range until there are most of them or their effects are too heavy. Its error is of
// reading.
func (p *Pipeline) foldRange(ctx context.Context, d *deviceRun, rows tables.Range, most, heaviest int) error {
	query := tables.Query{Range: rows, Size: min(most, 1000)}
	if d.brief > 0 {
		query.Size = min(p.portion(), 1000)
	}
	for page, err := range p.Client.Table(d.Member.Readings).Rows(ctx, query) {
		if errors.Is(err, tables.ErrNoTable) {
			return nil // the first device of an enrollment has not written yet
		}
		if err != nil {
			return err
		}
		d.Seen = max(d.Seen, tables.TicksOf(page.Time))
		if n := len(page.Rows); d.rows == 0 && n >= query.Size && page.Next != (tables.Continuation{}) &&
			tables.TicksBefore(page.Rows[0].RowKey) < d.brief {
			d.Behind, d.left = true, true
			return nil
		}
		for left := page.Rows; len(left) > 0; {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if d.Err = d.tooLong(); d.Err != nil {
				return nil
			}
			n := min(chunkOf(left), most-d.rows)
			var taken int
			if taken, d.Err = d.foldRows(left[:n]); d.Err != nil {
				return nil
			}
			left = left[taken:]
			if taken < n {
				d.Behind = true
				return nil
			}
			if d.rows >= most || d.weight >= heaviest || d.full > 0 && d.bytes >= d.full {
				d.Behind = len(left) > 0 || page.Next != (tables.Continuation{})
				return nil
			}
		}
	}
	return nil
}

// A rowRead is a row as processors see it.
type rowRead struct {
	foreign bool  // another tenant had the device
	err     error // why it is no reading
	refused []fold.Refusal
}

// foldRows folds rows and moves the device's checkpoint, in memory. It returns how many rows it took: a Watcher may
// have no room for all of them.
func (d *deviceRun) foldRows(rows []tables.Entity) (taken int, err error) {
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
		sample, read[i].refused = d.model.Sensors.Sample(r)
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
	for _, processor := range d.model.Processors {
		if processor.Once || d.again && !processor.Refolds() {
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
		if _, merging := processor.Fold.(fold.Merging); d.again && merging {
			out.Effects = nil // they cover these rows alone
		}
		if err := d.take(processor, out, byKey); err != nil {
			return 0, err
		}
	}
	d.countRejects()
	return len(rows), nil
}

// pass counts rows, moves the checkpoint to the last of them, and refuses what is no value.
func (d *deviceRun) pass(rows []tables.Entity, read []rowRead) (byKey map[string]*tables.Entity) {
	byKey = make(map[string]*tables.Entity, len(rows))
	for i := range rows {
		e := &rows[i]
		byKey[e.RowKey] = e
		d.bytes += e.Size()
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
	d.rows += len(rows)
	return byKey
}

// close tells the processors that wait for it how far time has passed.
func (d *deviceRun) close(until tables.Ticks) error {
	left, err := d.watchTime(until)
	if err != nil {
		return err
	}
	d.Behind = d.Behind || left > 0
	for _, processor := range d.model.Processors {
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
		if err := d.take(processor, out, nil); err != nil {
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

// take records a fold's new state, its outputs and its rejected values.
func (d *deviceRun) take(processor fold.Configured, out fold.Result, rows map[string]*tables.Entity) error {
	d.Row.States[processor.Name] = out.State
	for _, r := range out.Refused {
		d.refuse(r, rows[r.Row])
	}
	return d.effectsOf(processor, out.Effects)
}

// effectsOf records the effects of a processor.
func (d *deviceRun) effectsOf(processor fold.Configured, effects []fold.Effect) error {
	if err := processor.Check(effects); err != nil {
		return err
	}
	for _, e := range effects {
		d.effect(e)
	}
	return nil
}

// effect keeps the newest effect on an output.
func (d *deviceRun) effect(e fold.Effect) {
	old := d.Effects[e.Output]
	if e.Properties == nil {
		e.Properties, e.Mark = old.Properties, old.Mark
	}
	if e.Properties != nil && d.showsNow(e.Output) && d.ended() {
		e.Properties = []tables.Property{}
	}
	d.Effects[e.Output] = e
	d.weight += weigh(e) - weigh(old)
}

// weigh returns about how many bytes an effect takes.
func weigh(e fold.Effect) int {
	const property = 64
	n := len(e.Output.PartitionKey) + len(e.Output.RowKey)
	for _, p := range e.Properties {
		n += property + len(p.Name) + len(p.Value.Text())
	}
	return n
}

// timed tells onFold about a call of a processor. Without onFold it costs nothing.
func (d *deviceRun) timed(p fold.Configured, rows int, call func() (fold.Result, error)) (fold.Result, error) {
	if d.onFold == nil {
		return call()
	}
	began := time.Now()
	out, err := call()
	d.onFold(fold.Folded{Processor: p.Name, Rows: rows, Outputs: len(out.Effects), Rejects: len(out.Refused),
		Took: time.Since(began)})
	return out, err
}
