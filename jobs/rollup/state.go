package rollup

import (
	"errors"
	"slices"

	"furrow/jobs"
	"furrow/jobs/internal/pack"
	"furrow/tables"
)

// state is what a device's rollups are between two folds: the open bucket of
// each window.
type state struct {
	last    tables.RowKey // of the last sample
	begun   bool          // there was one
	sensors []string      // in the order in which they appeared
	open    []bucket      // one for each window
}

// A bucket is one that samples may still be added to.
type bucket struct {
	window     tables.Window
	start      tables.Ticks
	begun      bool
	changed    bool        // since it was last asked to be written
	aggregates []Aggregate // by sensor, as far as it has any
}

// add takes a sensor's number in.
func (b *bucket) add(sensor int, n float64) {
	for len(b.aggregates) <= sensor {
		b.aggregates = append(b.aggregates, Aggregate{})
	}
	b.aggregates[sensor].Add(n)
	b.changed = true
}

// sensor is the number of a sensor, a new one if there is room.
func (s *state) sensor(name string) (int, bool) {
	if i := slices.Index(s.sensors, name); i >= 0 {
		return i, true
	}
	if len(s.sensors) == jobs.MaxSensors {
		s.forget()
	}
	if len(s.sensors) == jobs.MaxSensors {
		return 0, false
	}
	s.sensors = append(s.sensors, name)
	return len(s.sensors) - 1, true
}

// forget leaves out the sensors that no open bucket has: a device that renames
// its sensors does not use up its share for ever.
func (s *state) forget() {
	var keep []int
	for i := range s.sensors {
		if slices.ContainsFunc(s.open, func(b bucket) bool { return i < len(b.aggregates) && b.aggregates[i].Count > 0 }) {
			keep = append(keep, i)
		}
	}
	sensors := make([]string, len(keep))
	for to, from := range keep {
		sensors[to] = s.sensors[from]
	}
	for i := range s.open {
		b := &s.open[i]
		kept := make([]Aggregate, len(keep))
		for to, from := range keep {
			if from < len(b.aggregates) {
				kept[to] = b.aggregates[from]
			}
		}
		if len(b.aggregates) > 0 {
			b.aggregates = kept
		}
	}
	s.sensors = sensors
}

const stateVersion = 1

func (s *state) encode() []byte {
	b := []byte{stateVersion}
	last := ""
	if s.begun {
		last = s.last.String()
	}
	b = pack.Text(b, last)
	b = pack.Int(b, len(s.sensors))
	for _, name := range s.sensors {
		b = pack.Text(b, name)
	}
	b = pack.Int(b, len(s.open))
	for _, o := range s.open {
		b = pack.Int(b, int64(o.window))
		b = pack.Int(b, int64(o.start))
		b = pack.Int(b, len(o.aggregates))
		for _, a := range o.aggregates {
			if b = pack.Int(b, a.Count); a.Count == 0 {
				continue
			}
			for _, f := range [...]float64{a.Sum, a.Min, a.Max, a.First, a.Last} {
				b = pack.Float(b, f)
			}
		}
	}
	return b
}

var errVersion = errors.New("the state is of a version that this program does not know")

// decode reads a state. A window that the state lacks begins anew, and one that
// the fold lacks is left out: what a change of windows means for the past is the
// refold's to mend.
func (f *Fold) decode(b []byte) (*state, error) {
	s := &state{}
	for _, w := range f.windows {
		s.open = append(s.open, bucket{window: w})
	}
	if b == nil {
		return s, nil
	}
	if len(b) == 0 || b[0] != stateVersion {
		return nil, errVersion
	}
	r := pack.NewReader(b[1:])
	if text := r.Text(); text != "" {
		var err error
		if s.last, err = tables.ParseRowKey(text); err != nil {
			return nil, pack.ErrDamaged
		}
		s.begun = true
	}
	for range r.Count() {
		s.sensors = append(s.sensors, r.Text())
	}
	for range r.Count() {
		o := readBucket(r, len(s.sensors))
		if i := slices.Index(f.windows, o.window); i >= 0 {
			s.open[i] = o
		}
	}
	return s, r.Err()
}

func readBucket(r *pack.Reader, sensors int) bucket {
	b := bucket{window: tables.Window(r.Int()), start: tables.Ticks(r.Int()), begun: true}
	for range min(r.Count(), sensors) {
		a := Aggregate{Count: r.Int()}
		if a.Count != 0 {
			for _, to := range []*float64{&a.Sum, &a.Min, &a.Max, &a.First, &a.Last} {
				*to = r.Float()
			}
		}
		b.aggregates = append(b.aggregates, a)
	}
	return b
}
