package rate

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// Processor keeps rates of change.
var Processor = &fold.Processor{
	Name:     "rate",
	Summary:  "how fast each number changes",
	Formats:  []int{1},
	MaxState: maxState,
	Tables:   []string{Table},
	Moves:    true,
	New:      func() fold.Config { return &Config{time.Hour} },
}

// Table is where the outputs are, without the prefix of the fleet's names.
const Table = "rates"

// A Config is the span over which differences are taken.
type Config struct {
	Over time.Duration `yaml:"over" least:"1m" most:"1d"`
}

// Check refuses a span that is too short or too long.
func (c *Config) Check() error {
	if c.Over < time.Minute || c.Over > 24*time.Hour {
		return fmt.Errorf("over %v; want 1m to 1d", c.Over)
	}
	return nil
}

// Fold is the fold that a checked configuration makes.
func (c *Config) Fold(s fold.Setup) fold.Fold {
	f := &Fold{over: tables.Ticks(c.Over / 100), before: 1, sensors: s.Sensors}
	if c.Over > 12*time.Hour {
		f.before = 2
	}
	settings := fnv.New64a()
	fmt.Fprint(settings, f.over, s.Sensors.Position)
	for _, name := range slices.Sorted(maps.Keys(s.Sensors.Counters)) {
		fmt.Fprint(settings, name, s.Sensors.Counters[name])
	}
	f.settings = settings.Sum64()
	return f
}

const (
	hour  = tables.Ticks(time.Hour / 100)
	day   = 24 * hour
	cells = 12 // of a span

	// maxSilence is how much older the reading before may be.
	maxSilence = day
)

// Windows are the lengths of the buckets.
func Windows() []schema.Window { return []schema.Window{schema.Hour, schema.Daily} }

// daily is the index of the bucket that decides which sensors are in the device's row.
const daily = 1

// A Fold folds readings into rates. It is safe for concurrent use.
type Fold struct {
	over     tables.Ticks
	before   schema.Day // how many days before that of its newest reading a device's row depends on
	sensors  fold.Sensors
	settings uint64 // a hash of all that changes what a state has
}

var _ fold.Windowed = (*Fold)(nil)

var errOrder = errors.New("rate: samples are not in row order")

// Fold takes the differences of samples to those before.
func (f *Fold) Fold(d schema.Member, state []byte, samples []fold.Sample) (fold.Result, error) {
	st, err := f.decode(state)
	if err != nil {
		return fold.Result{}, fmt.Errorf("rate of %s: %w", d.Device, err)
	}
	w := work{fold: f, member: d, state: st}
	for i := range samples {
		if err := w.sample(&samples[i]); err != nil {
			return fold.Result{}, err
		}
	}
	w.open()
	return fold.Result{State: f.encode(st), Effects: w.effects}, nil
}

// OpenFrom is the start of the first day that the device's row depends on.
func (f *Fold) OpenFrom(state []byte) (tables.Ticks, error) {
	st, err := f.decode(state)
	if err != nil || !st.begun {
		return 0, err
	}
	return f.from(st.last.Ticks), nil
}

func (f *Fold) from(newest tables.Ticks) tables.Ticks {
	return max((schema.DayOf(newest) - f.before).Start(), 0)
}

// Open gives the device's row and its open buckets.
func (f *Fold) Open(d schema.Member, state []byte) ([]fold.Effect, error) {
	st, err := f.decode(state)
	if err != nil || !st.begun {
		return nil, err
	}
	w := work{fold: f, member: d, state: st, newest: true, changed: [2]bool{true, true}}
	w.open()
	return w.effects, nil
}

// A work is one call of Fold.
type work struct {
	fold    *Fold
	member  schema.Member
	state   *state
	changed [2]bool // buckets, since they were begun or last asked to be written
	newest  bool    // the device's row has changed
	effects []fold.Effect
}

func (w *work) sample(s *fold.Sample) error {
	st, at := w.state, s.Key.Ticks
	if st.begun && s.Key.Compare(st.last) <= 0 {
		return errOrder
	}
	if !st.begun || schema.DayOf(at) != schema.DayOf(st.last.Ticks) {
		st.expire(w.fold.from(at))
		w.newest = true
	}
	for i, window := range Windows() {
		start, b := window.Start(at), &st.buckets[i]
		if st.begun && start != b.start {
			w.bucket(i, true)
		}
		if !st.begun || start != b.start {
			*b = bucket{start: start}
		}
	}
	st.last, st.begun = s.Key, true
	position := w.fold.sensors.Position
	if lat, lon := number(s, position.Lat), number(s, position.Lon); lat != nil && lon != nil {
		st.place = place{Position{*lat, *lon}, at}
	}
	for i := range s.Values {
		v := &s.Values[i]
		if v.Is == fold.Number && !v.Doubtful && v.Sensor != position.Lat && v.Sensor != position.Lon {
			w.value(at, v)
		}
	}
	return nil
}

func number(s *fold.Sample, sensor string) *float64 {
	i := slices.IndexFunc(s.Values, func(v fold.SensorValue) bool {
		return v.Sensor == sensor && v.Is == fold.Number && !v.Doubtful
	})
	if i < 0 {
		return nil
	}
	return &s.Values[i].Number
}

// value adds a number to the open buckets that have its sensor or room for it, and to
// the sensor's trail if the day's has.
func (w *work) value(at tables.Ticks, v *fold.SensorValue) {
	st, reading, counter := w.state, Reading{at, v.Number}, w.fold.sensors.Counter(v.Sensor)
	for i := range st.buckets {
		b := &st.buckets[i]
		s := b.sensor(v.Sensor, counter, maxRoom/(1+int(w.fold.before)))
		if s == nil || !s.add(reading, st.place.since(b.start)) {
			continue
		}
		w.changed[i] = true
		if i == daily {
			w.newest = true
			st.trail(v.Sensor, counter).add(reading, st.place, w.fold.over)
		}
	}
}

// open asks for the open buckets and the device's row, as far as they have changed.
func (w *work) open() {
	for i, changed := range w.changed {
		if changed {
			w.bucket(i, false)
		}
	}
	if w.newest {
		w.row()
	}
}

// row asks for the device's row. It is never closed.
func (w *work) row() {
	last := w.state.last.Ticks
	e := fold.Effect{From: w.fold.from(last), To: tables.MaxTicks, Properties: []tables.Property{}, Output: fold.Output{
		Table:        Table,
		PartitionKey: schema.LatestPartition{Tenant: w.member.Tenant, Month: w.member.Month}.String(),
		RowKey:       schema.LatestRow{Device: w.member.Device}.String(),
	}}
	for i := range w.state.trails {
		t := &w.state.trails[i]
		if l, known := t.latest(w.fold); known {
			e.Properties = append(e.Properties, tables.Property{Name: t.name, Value: tables.String(l.String())})
		}
	}
	w.effects = append(w.effects, e)
}

// bucket asks for a bucket as it is now.
func (w *work) bucket(i int, closed bool) {
	d, b, window := w.member, &w.state.buckets[i], Windows()[i]
	partition := schema.RollupPartition{Tenant: d.Tenant, Window: window, Day: schema.DayOf(b.start), Month: d.Month}
	e := fold.Effect{Closed: closed, From: b.start, To: b.start.Add(time.Duration(window)), Output: fold.Output{
		Table:        Table,
		PartitionKey: partition.String(),
		RowKey:       schema.RollupRow{Device: d.Device, Bucket: b.start}.String(),
	}}
	if w.changed[i] || len(b.sensors) == 0 { // otherwise it was written as it is
		e.Properties = []tables.Property{}
		for i := range b.sensors {
			s := &b.sensors[i]
			e.Properties = append(e.Properties, tables.Property{Name: s.name, Value: tables.String(s.String())})
		}
	}
	w.changed[i] = false
	w.effects = append(w.effects, e)
}
