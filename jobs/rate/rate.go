package rate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
)

// Processor keeps rates of change.
var Processor = &jobs.Processor{
	Name:     "rate",
	Summary:  "how fast each number changes",
	Formats:  []int{1},
	MaxState: maxState,
	Tables:   []string{Table},
	Moves:    true,
	New:      func() jobs.Config { return &Config{time.Hour} },
}

// Table is where the outputs are, without the prefix of the fleet's names.
const Table = "rates"

// A Config says over which span differences are taken.
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
func (c *Config) Fold(s jobs.Setup) jobs.Fold {
	f := &Fold{over: tables.Ticks(c.Over / 100), reach: day, sensors: s.Sensors}
	if c.Over > 12*time.Hour {
		f.reach = 2 * day
	}
	return f
}

const (
	hour  = tables.Ticks(time.Hour / 100)
	day   = 24 * hour
	cells = 30 // of a span
)

// windows are those of the series, in the order of tallies.
func windows() [2]schema.Window { return [...]schema.Window{schema.Hour, schema.Daily} }

// A Fold folds readings into rates. It is safe for concurrent use.
type Fold struct {
	over    tables.Ticks
	reach   tables.Ticks // of a difference: whole days
	sensors jobs.Sensors
}

var _ jobs.Reaching = (*Fold)(nil)

// Reach is how far before a day the outputs of that day depend on readings: a
// device's row has what was read the day before.
func (f *Fold) Reach() tables.Ticks { return f.reach + day }

var errOrder = errors.New("rate: samples are not in row order")

// Fold takes the differences of samples to those before.
func (f *Fold) Fold(d schema.Member, state []byte, samples []jobs.Sample) (jobs.FoldResult, error) {
	st, err := decode(state)
	if err != nil {
		return jobs.FoldResult{}, fmt.Errorf("rate of %s: %w", d.Device, err)
	}
	w := work{fold: f, member: d, state: st}
	for i := range samples {
		if err := w.sample(&samples[i]); err != nil {
			return jobs.FoldResult{}, err
		}
	}
	if len(samples) > 0 {
		w.state.expire(f.reach)
		w.open(false)
	}
	return jobs.FoldResult{State: st.encode(), Effects: w.effects}, nil
}

// OpenFrom is the start of the day that is folded.
func (f *Fold) OpenFrom(state []byte) (tables.Ticks, error) {
	st, err := decode(state)
	if err != nil || !st.begun {
		return 0, err
	}
	return schema.DayOf(st.last.Ticks).Start(), nil
}

// Open gives the device's row and its open buckets.
func (f *Fold) Open(d schema.Member, state []byte) ([]jobs.Effect, error) {
	st, err := decode(state)
	if err != nil || !st.begun {
		return nil, err
	}
	w := work{fold: f, member: d, state: st}
	w.open(true)
	return w.effects, nil
}

// A work is one call of Fold.
type work struct {
	fold    *Fold
	member  schema.Member
	state   *state
	changed [2]bool // buckets, since they were begun or last asked to be written
	newest  bool    // the device's row has changed
	effects []jobs.Effect
}

func (w *work) sample(s *jobs.Sample) error {
	st, at := w.state, s.Key.Ticks
	if st.begun && s.Key.Compare(st.last) <= 0 {
		return errOrder
	}
	for i, window := range windows() {
		if start := window.Start(at); st.begun && start != window.Start(st.last.Ticks) {
			w.bucket(i, true)
			st.clear(i)
		}
	}
	if !st.begun || schema.DayOf(at) != schema.DayOf(st.last.Ticks) {
		st.today, st.room = 0, 0
		w.newest = true // sensors of the day before yesterday leave
	}
	st.last, st.begun = s.Key, true
	w.locate(s)
	for i := range s.Values {
		if v := &s.Values[i]; v.Is == jobs.Number && !v.Doubtful && v.Sensor != w.fold.sensors.Position.Lat && v.Sensor != w.fold.sensors.Position.Lon {
			w.value(at, v)
		}
	}
	return nil
}

// locate notes where the device is.
func (w *work) locate(s *jobs.Sample) {
	names := w.fold.sensors.Position
	lat, lon := number(s, names.Lat), number(s, names.Lon)
	if names.Lat != "" && lat != nil && lon != nil {
		w.state.position = located{Position{*lat, *lon}, s.Key.Ticks}
	}
}

func number(s *jobs.Sample, sensor string) *float64 {
	i := slices.IndexFunc(s.Values, func(v jobs.SensorValue) bool { return v.Sensor == sensor && v.Is == jobs.Number && !v.Doubtful })
	if i < 0 {
		return nil
	}
	return &s.Values[i].Number
}

// value takes the differences of one reading of a sensor.
func (w *work) value(at tables.Ticks, v *jobs.SensorValue) {
	f, counter := w.fold, w.fold.sensors.Counters[v.Sensor]
	s := w.state.admit(at, v.Sensor, counter, f.reach)
	if s == nil {
		return
	}
	s.newest = change{}
	before, carry, known := point{}, 0.0, len(s.points) > 0
	if known {
		before = s.points[len(s.points)-1]
		known = at-before.at <= f.reach
	}
	if !known {
		s.points = s.points[:0]
	} else {
		if counter && v.Number < before.value {
			carry = before.value
		}
		s.newest.take(before, at, v.Number, carry)
		for i := range s.tallies {
			s.tallies[i].add(s.newest.step, at-before.at)
		}
	}
	s.add(point{at, v.Number, carry}, f.over/cells)
	s.span(floorTo(at-f.over, f.over/cells), f.reach)
	if p := w.state.position; p.at > 0 && at-p.at <= f.reach {
		s.newest.position, s.newest.located = p.Position, true
	}
	w.newest, w.changed = true, [2]bool{true, true}
}

// open asks for the device's row and the open buckets, as far as they have changed.
func (w *work) open(all bool) {
	for i := range w.changed {
		if all || w.changed[i] {
			w.bucket(i, false)
		}
	}
	if all || w.newest {
		w.row()
	}
}

// row asks for the device's row. What comes later changes it, whatever the time.
func (w *work) row() {
	e := jobs.Effect{From: w.state.last.Ticks, To: tables.MaxTicks, Properties: []tables.Property{}, Output: jobs.Output{
		Table:        Table,
		PartitionKey: schema.LatestPartition{Tenant: w.member.Tenant, Month: w.member.Month}.String(),
		RowKey:       string(w.member.Device),
	}}
	for i := range w.state.sensors {
		if s := &w.state.sensors[i]; s.newest.known {
			e.Properties = append(e.Properties, tables.Property{Name: s.name, Value: tables.String(s.latest().String())})
		}
	}
	w.effects = append(w.effects, e)
}

// bucket asks for a bucket as it is now.
func (w *work) bucket(i int, closed bool) {
	d, window := w.member, windows()[i]
	start := window.Start(w.state.last.Ticks)
	e := jobs.Effect{Closed: closed, From: start, To: start.Add(time.Duration(window)), Properties: []tables.Property{}, Output: jobs.Output{
		Table:        Table,
		PartitionKey: schema.RollupPartition{Tenant: d.Tenant, Window: window, Day: schema.DayOf(start), Month: d.Month}.String(),
		RowKey:       schema.RollupRow{Device: d.Device, Bucket: start}.String(),
	}}
	for n := range w.state.sensors {
		if s := &w.state.sensors[n]; s.tallies[i].Count > 0 {
			e.Properties = append(e.Properties, tables.Property{Name: s.name, Value: tables.String(s.tallies[i].String())})
		}
	}
	if closed && !w.changed[i] && len(e.Properties) > 0 {
		e.Properties = nil // it was written as it is
	}
	w.effects = append(w.effects, e)
	w.changed[i] = false
}

// admit is the sensor where it has rates today: nil where there is no room.
func (st *state) admit(at tables.Ticks, name string, counter bool, reach tables.Ticks) *sensor {
	i, found := slices.BinarySearchFunc(st.sensors, name, func(s sensor, name string) int { return strings.Compare(s.name, name) })
	if found && schema.DayOf(st.sensors[i].newestAt()) == schema.DayOf(at) {
		if st.sensors[i].newestAt() == at {
			return nil // of one tick, the first counts
		}
		return &st.sensors[i]
	}
	room := sensorRoom(name, counter)
	if st.today >= jobs.MaxSensors || st.room+room > maxRoom/int(reach/day+1) {
		return nil
	}
	st.today, st.room = st.today+1, st.room+room
	if !found {
		st.sensors = slices.Insert(st.sensors, i, sensor{name: name, counter: counter})
	}
	return &st.sensors[i]
}

func floorTo(t, length tables.Ticks) tables.Ticks { return t - (t%length+length)%length }
