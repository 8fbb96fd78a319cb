// Package rollup folds readings into buckets of time: for each window size and
// sensor the count, sum, least, greatest, first and last of its numbers.
package rollup

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"furrow/jobs"
	"furrow/tables"
)

// Config says which buckets there are.
type Config struct {
	Windows []tables.Window // zero: minute, hour and day
}

// Windows that a Config may have: their outputs and states have bounds.
const maxWindows = 8

// New is the fold that c says.
func New(c Config) (*Fold, error) {
	windows := slices.Clone(c.Windows)
	if len(windows) == 0 {
		windows = []tables.Window{tables.Minute, tables.Hour, tables.Daily}
	}
	slices.Sort(windows)
	if len(windows) > maxWindows {
		return nil, fmt.Errorf("%d windows; at most %d are allowed", len(windows), maxWindows)
	}
	for i, w := range windows {
		if err := w.Check(); err != nil {
			return nil, err
		}
		if i > 0 && w == windows[i-1] {
			return nil, fmt.Errorf("window %s is there twice", w)
		}
	}
	return &Fold{windows: windows}, nil
}

// A Fold is the processor. It is safe for concurrent use.
type Fold struct{ windows []tables.Window }

var _ jobs.Windowed = (*Fold)(nil)

var errOrder = errors.New("rollup: samples are not in row order")

// Fold adds samples to the buckets they lie in. Every window size adds the
// samples themselves, never another size's sums, so that no sum depends on how
// the readings were cut into calls.
func (f *Fold) Fold(d tables.Member, state []byte, samples []jobs.Sample) (jobs.Folded, error) {
	st, err := f.decode(state)
	if err != nil {
		return jobs.Folded{}, fmt.Errorf("rollup of %s: %w", d.Device, err)
	}
	work := folding{member: d, state: st}
	for i := range samples {
		if err := work.sample(&samples[i]); err != nil {
			return jobs.Folded{}, err
		}
	}
	for i := range st.open {
		if b := &st.open[i]; b.changed {
			work.effect(b, false)
		}
	}
	work.out.State = st.encode()
	return work.out, nil
}

// OpenFrom is the start of the longest open bucket.
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

// folding is one call of Fold.
type folding struct {
	member tables.Member
	state  *state
	out    jobs.Folded
}

func (w *folding) sample(s *jobs.Sample) error {
	if w.state.begun && s.Key.Compare(w.state.last) <= 0 {
		return errOrder
	}
	w.state.last, w.state.begun = s.Key, true
	for i := range w.state.open {
		b := &w.state.open[i]
		start := b.window.Start(s.Key.Ticks)
		if b.begun && start != b.start {
			w.effect(b, true)
			*b = bucket{window: b.window}
		}
		b.start, b.begun = start, true
	}
	for _, v := range s.Values {
		if v.Is != jobs.Number || v.Doubtful {
			continue
		}
		sensor, ok := w.state.sensor(v.Sensor)
		if !ok {
			w.out.Refused = append(w.out.Refused, jobs.Refusal{Row: s.Key.String(), Sensor: v.Sensor,
				Reason: fmt.Sprintf("its device has %d other sensors already, which is the most that is kept", jobs.MaxSensors)})
			continue
		}
		for i := range w.state.open {
			w.state.open[i].add(sensor, v.Number)
		}
	}
	return nil
}

// effect asks for a bucket to be written as it is now; one that did not change
// since it was last written is only reported closed.
func (w *folding) effect(b *bucket, closed bool) {
	if len(b.aggregates) == 0 {
		return // no sample in it had a number
	}
	d := w.member
	e := jobs.Effect{Closed: closed, From: b.start, To: b.start.Add(time.Duration(b.window)), Output: jobs.Output{
		Kind:         jobs.Rollups,
		PartitionKey: tables.RollupPartition{Tenant: d.Tenant, Window: b.window, Day: tables.DayOf(b.start), Month: d.Month}.String(),
		RowKey:       tables.RollupRow{Device: d.Device, Bucket: b.start}.String(),
	}}
	if b.changed {
		for i, a := range b.aggregates {
			if a.Count > 0 {
				e.Properties = append(e.Properties, tables.Property{Name: w.state.sensors[i], Value: tables.String(a.String())})
			}
		}
		b.changed = false
	}
	w.out.Effects = append(w.out.Effects, e)
}
