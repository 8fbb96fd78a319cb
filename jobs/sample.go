package jobs

import (
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Sample is a reading as processors fold it: a finite number or a state of each sensor.
type Sample struct {
	Key    schema.RowKey
	Values []SensorValue // each sensor once, in the order of the reading
}

// A SensorValue is the value of one sensor.
type SensorValue struct {
	Sensor   string
	Number   float64 // finite; unused for a state
	State    string
	Is       SensorKind // Number or State
	Doubtful bool       // its quality is not good: it counts in latest, but in no rollup
}

// A SensorKind says how to read a sensor's values.
type SensorKind uint8

const (
	AsSent  SensorKind = iota // numbers, numeric texts and booleans are numbers; other texts are states
	Number                    // other values are refused
	State                     // every value is taken as text
	Ignored                   // the sensor is ignored
)

// Sensors is what is known about a device's sensors. If it is zero, nothing is known.
type Sensors struct {
	Kinds map[string]SensorKind // by sensor; AsSent if missing
	// Quality is the sensor whose values say how good the whole reading is, or empty. Processors do not see it.
	Quality string
	Good    []string // values of Quality, as text, that mean good

	Counters map[string]bool // sensors that fall only when they begin again from zero
	Position Position
}

// A Position names the sensors that tell where a device is, in degrees; empty: none do.
type Position struct{ Lat, Lon string }

// Sample converts a reading. It refuses what cannot be a value, and keeps the others.
//
// A reading has at most MaxSensors values, in the order of its properties: a property that would exceed this is refused
// as a whole. The names and texts of all values take at most MaxRoom, and values beyond are refused. So any reading
// that storage accepts takes time and memory in proportion to its size.
func (s *Sensors) Sample(r schema.Reading) (Sample, []Refusal) {
	w := sampling{sensors: s, left: MaxSensors, sample: Sample{Key: r.Key, Values: make([]SensorValue, 0,
		len(r.Properties))}}
	for i := range r.Properties {
		p := &r.Properties[i]
		if w.left > 0 && !isNested(p.Value) {
			w.left--
			w.add(p.Name, p.Value)
			continue
		}
		leaves, long, err := w.flat.flatten(p.Name, p.Value, w.left)
		if err != nil {
			w.refuse(p.Name, err.Error())
		}
		for _, name := range long {
			w.refuse(name, reasonLongName)
		}
		w.left -= len(leaves)
		for i := range leaves {
			w.add(leaves[i].sensor, leaves[i].value)
		}
	}
	if w.doubtful {
		for i := range w.sample.Values {
			w.sample.Values[i].Doubtful = true
		}
	}
	return w.sample, w.refusals()
}

// A sampling is one call of Sample.
type sampling struct {
	sensors  *Sensors
	flat     flattener
	sample   Sample
	at       map[string]int // index of each sensor in the sample, once it has many
	left     int            // how many more values may come
	room     int            // bytes that values take
	doubtful bool
	refused  []Refusal
	more     int // refusals that are only counted
}

// add adds a value of a sensor, or refuses it.
func (w *sampling) add(sensor string, v tables.Value) {
	if sensor == w.sensors.Quality && sensor != "" {
		w.doubtful = !slices.Contains(w.sensors.Good, v.String())
		return
	}
	kind := w.sensors.Kinds[sensor]
	if kind == Ignored {
		return
	}
	if reason := checkName(sensor); reason != "" {
		w.refuse(sensor, reason)
		return
	}
	m, reason := measure(sensor, v, kind)
	switch {
	case reason != "":
		w.refuse(sensor, reason)
	case m.Is != Ignored:
		w.set(m)
	}
}

// manySensors is the number of values from which sensors are looked up in a map.
const manySensors = 16

// set adds m, or replaces the value of its sensor in the same reading.
func (w *sampling) set(m SensorValue) {
	room := Room(m.Sensor, IsLong(w.sample.Key, m.State))
	i := w.find(m.Sensor)
	if i >= 0 {
		old := &w.sample.Values[i]
		room -= Room(old.Sensor, IsLong(w.sample.Key, old.State))
	}
	if w.room+room > MaxRoom {
		w.refuse(m.Sensor, reasonNoRoom)
		return
	}
	w.room += room
	if i >= 0 {
		w.sample.Values[i] = m
		return
	}
	w.sample.Values = append(w.sample.Values, m)
	if w.at != nil {
		w.at[m.Sensor] = len(w.sample.Values) - 1
	}
}

// find returns the index of a sensor in the sample, or -1.
func (w *sampling) find(sensor string) int {
	values := w.sample.Values
	if len(values) < manySensors {
		return slices.IndexFunc(values, func(m SensorValue) bool { return m.Sensor == sensor })
	}
	if w.at == nil {
		w.at = make(map[string]int, 2*len(values))
		for i := range values {
			w.at[values[i].Sensor] = i
		}
	}
	if i, ok := w.at[sensor]; ok {
		return i
	}
	return -1
}
