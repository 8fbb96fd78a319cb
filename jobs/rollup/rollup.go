// Package rollup folds readings into buckets of time: for each window and sensor the count, sum, minimum, maximum,
// first and last of its numbers.
//
// A bucket takes the first fold.MaxSensors sensors in row order, as far as their names fit the state: a sensor takes 62
// bytes and its name, and a bucket has 304 KiB divided by the number of windows. With three windows that is 1,000
// sensors whose names have up to 41 bytes, with eight windows 470 whose names have 20. Other values are refused. A
// bucket depends on its own readings alone.
//
// Buckets of windows that are reported (fold.Setup) are also written to BucketsTable, and marked.
package rollup

import (
	"errors"
	"fmt"
	"slices"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// Processor keeps aggregates of windows of time.
var Processor = &fold.Processor{
	Name:     "rollup",
	Summary:  "count, sum, min, max, first and last of each sensor and window",
	Formats:  []int{1},
	MaxState: maxState,
	Tables:   []string{Table, BucketsTable},
	New:      func() fold.Config { return &Config{[]schema.Window{schema.Minute, schema.Hour, schema.Daily}} },
}

// Table is where rollups are, without the prefix of the fleet's names.
const Table = "rollups"

// A Config says which buckets there are.
type Config struct {
	Windows []schema.Window `yaml:"windows" want:"a list of windows, such as [15m, 1h, 1d]"`
}

// maxWindows bounds the outputs of a reading and the state.
const maxWindows = 8

// Check sorts and checks the windows.
func (c *Config) Check() error {
	slices.Sort(c.Windows)
	if n := len(c.Windows); n == 0 || n > maxWindows {
		return fmt.Errorf("%d windows; want 1 to %d", n, maxWindows)
	}
	for i, w := range c.Windows {
		if err := w.Check(); err != nil {
			return err
		}
		if i > 0 && w == c.Windows[i-1] {
			return fmt.Errorf("window %s is listed twice", w)
		}
	}
	return nil
}

// Fold returns the fold of a checked configuration.
func (c *Config) Fold(s fold.Setup) fold.Fold {
	f := newFold(c.Windows...)
	for _, w := range s.Reported {
		if slices.Contains(c.Windows, w) {
			f.reported = append(f.reported, w)
		}
	}
	return f
}

func newFold(windows ...schema.Window) *Fold {
	return &Fold{windows: windows, room: maxRoom / len(windows)}
}

// Sizes returns the lengths of the buckets.
func (c *Config) Sizes() []schema.Window { return c.Windows }

// A Fold folds readings into buckets. It is safe for concurrent use.
type Fold struct {
	windows []schema.Window
	room    int // maximum bytes of the sensors of one bucket in a state

	reported []schema.Window // written to BucketsTable, too
}

var _ fold.Windowed = (*Fold)(nil)

var errOrder = errors.New("rollup: samples are not in row order")

// Fold adds samples to their buckets. Every window adds the samples themselves, never another window's sums, so no sum
// depends on how the readings were cut into calls.
func (f *Fold) Fold(d schema.Member, state []byte, samples []fold.Sample) (fold.Result, error) {
	st, err := f.decode(state)
	if err != nil {
		return fold.Result{}, fmt.Errorf("rollup of %s: %w", d.Device, err)
	}
	work := foldRun{fold: f, member: d, state: st}
	for i := range samples {
		if err := work.sample(&samples[i]); err != nil {
			return fold.Result{}, err
		}
	}
	for i := range st.open {
		if b := &st.open[i]; b.changed {
			work.effect(b, false)
		}
	}
	work.out.State = f.encode(st)
	return work.out, nil
}

// OpenFrom returns the start of the longest open bucket.
func (f *Fold) OpenFrom(state []byte) (tables.Ticks, error) {
	st, err := f.decode(state)
	if err != nil || !st.begun {
		return 0, err
	}
	from := tables.MaxTicks
	for _, b := range st.open {
		if b.begun {
			from = min(from, b.start)
		}
	}
	return from, nil
}

// Open returns the open buckets.
func (f *Fold) Open(d schema.Member, state []byte) ([]fold.Effect, error) {
	st, err := f.decode(state)
	if err != nil {
		return nil, fmt.Errorf("rollup of %s: %w", d.Device, err)
	}
	work := foldRun{fold: f, member: d, state: st}
	for i := range st.open {
		if b := &st.open[i]; b.begun {
			b.changed = true
			work.effect(b, false)
			if f.reports(b.window) {
				work.report(b, 0, false)
			}
		}
	}
	return work.out.Effects, nil
}

// foldRun is one call of Fold.
type foldRun struct {
	fold   *Fold
	member schema.Member
	state  *state
	out    fold.Result
}

func (w *foldRun) sample(s *fold.Sample) error {
	if w.state.begun && s.Key.Compare(w.state.last) <= 0 {
		return errOrder
	}
	w.state.last, w.state.begun = s.Key, true
	for i := range w.state.open {
		b := &w.state.open[i]
		start := b.window.Start(s.Key.Ticks)
		if b.begun && start != b.start {
			w.effect(b, true)
			if w.fold.reports(b.window) {
				w.reportClosed(b)
			}
			*b = bucket{window: b.window}
		}
		b.start, b.begun = start, true
		if s.Bytes > 0 && w.fold.reports(b.window) {
			b.stored.Rows, b.stored.Bytes, b.pending = b.stored.Rows+1, b.stored.Bytes+int64(s.Bytes), true
		}
	}
	w.values(s)
	return nil
}

// values adds the numbers of a sample to all open buckets.
func (w *foldRun) values(s *fold.Sample) {
	refused := 0
	for i := range s.Values {
		v := &s.Values[i]
		if v.Is != fold.Number || v.Doubtful {
			continue
		}
		full := w.value(i, v)
		if full == nil {
			continue
		}
		if refused++; refused <= maxRefusals {
			w.refuse(s, v.Sensor, full)
		}
	}
	for i := range w.state.open {
		if b := &w.state.open[i]; b.counts {
			b.readings, b.counts = b.readings+1, false
		}
	}
	if refused > maxRefusals {
		w.out.Refused = append(w.out.Refused, fold.Refusal{Row: s.Key.String(),
			Reason: fmt.Sprintf("and %d more of its values", refused-maxRefusals)})
	}
}

// value adds a number to the open buckets that have its sensor or room for it, and returns one that has neither.
func (w *foldRun) value(place int, v *fold.SensorValue) (full *bucket) {
	sensor := w.state.sensor(place, v.Sensor)
	for i := range w.state.open {
		b := &w.state.open[i]
		if sensor < 0 || !b.has(sensor) {
			if !b.takes(v.Sensor, w.fold.room) {
				full = b
				continue
			}
			if sensor < 0 {
				sensor = w.state.add(place, v.Sensor)
			}
			b.begin(sensor, v.Sensor)
		}
		a := &b.aggregates[sensor]
		if a.Count == 0 {
			a.FirstAt = w.state.last.Ticks
		}
		a.LastAt = w.state.last.Ticks
		a.Add(v.Number)
		b.changed, b.pending, b.counts = true, true, true
	}
	return full
}

// maxRefusals is how many refusals of a sample are kept apart.
const maxRefusals = 10

func (w *foldRun) refuse(s *fold.Sample, sensor string, full *bucket) {
	reason := fmt.Sprintf("its bucket of %s already has %d other sensors, the maximum", full.window, full.sensors)
	if full.sensors < fold.MaxSensors {
		reason = fmt.Sprintf("the names of %d other sensors in its bucket of %s leave no room for it", full.sensors,
			full.window)
	}
	w.out.Refused = append(w.out.Refused, fold.Refusal{Row: s.Key.String(), Sensor: sensor, Reason: reason})
}

// effect asks for a bucket to be written. One that has not changed since it was last written is only reported closed.
func (w *foldRun) effect(b *bucket, closed bool) {
	d := w.member
	e := fold.Effect{Closed: closed, From: b.start, To: b.endsAt(), Output: fold.Output{
		Table: Table,
		PartitionKey: schema.RollupPartition{Tenant: d.Tenant, Window: b.window, Day: schema.DayOf(b.start),
			Month: d.Month}.String(),
		RowKey: schema.RollupRow{Device: d.Device, Bucket: b.start}.String(),
	}}
	if b.changed || b.sensors == 0 {
		e.Properties = []tables.Property{} // none where no sample had a number
		for i, a := range b.aggregates {
			if a.Count > 0 {
				e.Properties = append(e.Properties, tables.Property{Name: w.state.names[i],
					Value: tables.String(a.Aggregate.String())})
			}
		}
		if b.readings > b.most() {
			e.Properties = append(e.Properties, tables.Property{Name: fold.ReadingsProperty, Value: tables.Int64(b.readings)})
		}
		b.changed = false
	}
	w.out.Effects = append(w.out.Effects, e)
}
