package fold

import (
	"fmt"
	"slices"

	"furrow/jobs/condition"
	"furrow/tables"
	"furrow/tables/schema"
)

// Sample converts a reading. It refuses what cannot be a value, and keeps the others.
//
// A reading has at most MaxSensors values, in the order of its properties: a property that would exceed this is refused
// as a whole. The names and texts of all values take at most MaxRoom, and values beyond are refused. So any reading
// that storage accepts takes time and memory in proportion to its size.
func (s *Sensors) Sample(r schema.Reading) (Sample, []Refusal) {
	w := s.sampling(r)
	w.read(r)
	return w.sample, w.refusals()
}

// Explain converts a reading as Sample does, and says what became of each value that is not refused. A reading without
// values that has some which became something is a heartbeat.
func (s *Sensors) Explain(r schema.Reading) (all []Explanation, sample Sample, refused []Refusal) {
	w := s.sampling(r)
	w.explains = true
	w.read(r)
	return w.explained, w.sample, w.refusals()
}

func (s *Sensors) sampling(r schema.Reading) *sampling {
	return &sampling{sensors: s, left: MaxSensors, sample: Sample{Key: r.Key,
		Values: make([]SensorValue, 0, len(r.Properties))}}
}

// read takes the values of a reading.
func (w *sampling) read(r schema.Reading) {
	s, doubtful := w.sensors, false
	if s.Long != (Long{}) {
		w.named = s.Long.sensorOf(r)
	}
	for i := range r.Properties {
		switch p := r.Properties[i]; {
		case p.Name == schema.AckProperty:
			continue // it is about a command, whatever the model
		case schema.SaysDoubtful(p):
			doubtful = true
			continue
		}
		w.property(r.Properties[i].Name, r.Properties[i].Value)
	}
	w.leaveOutMet()
	w.doubtful = w.doubtful || doubtful
	if w.isHeartbeat() {
		w.sample.Values, w.at = nil, nil
	}
	w.sample.Exact = slices.DeleteFunc(w.sample.Exact, func(x ExactValue) bool { // its double is not among the values
		return x.Value.Type() == tables.TypeInt64 && w.find(x.Sensor) < 0
	})
	if w.doubtful {
		for i := range w.sample.Values {
			w.sample.Values[i].Doubtful = true
		}
	}
}

// property adds the values of a property.
func (w *sampling) property(name string, v tables.Value) {
	if long := w.sensors.Long; name != "" && name == long.Name {
		return
	} else if name != "" && name == long.Value {
		if name = w.named; name == "" {
			w.refuse(long.Value, "its row names no sensor in "+long.Name)
			return
		}
	}
	if w.left > 0 && !isNested(v) {
		w.left--
		w.add(name, v)
		return
	}
	leaves, long, err := w.flat.flatten(name, v, w.left)
	if err != nil {
		w.refuse(name, err.Error())
	}
	for _, name := range long {
		w.refuse(name, reasonLongName)
	}
	w.left -= len(leaves)
	for i := range leaves {
		w.add(leaves[i].sensor, leaves[i].value)
	}
}

// add adds a value under the name of its property, or refuses it.
func (w *sampling) add(name string, v tables.Value) {
	if name == w.sensors.Quality && name != "" {
		w.doubtful = !slices.Contains(w.sensors.Good, v.String())
		w.explain(Explanation{Property: name, Value: v, Quality: true})
		return
	}
	means := w.sensors.Meaning(name)
	if means.Is == Ignored {
		w.explain(Explanation{Property: name, Value: v})
		return
	}
	if reason := checkName(means.As); reason != "" {
		w.refuse(name, reason)
		return
	}
	if means.lacks(v) {
		w.explain(Explanation{Property: name, Value: v, Missing: true})
		return
	}
	m, reason := measure(means, v)
	w.sample.Exact = exactly(w.sample.Exact, m, v)
	switch {
	case reason != "":
		w.refuse(name, reason)
	case m.Is != Ignored:
		w.set(m)
		w.explain(Explanation{Property: name, Value: v, Became: &m})
	default:
		w.explain(Explanation{Property: name, Value: v})
	}
}

// A sampling is one call of Sample.
type sampling struct {
	sensors   *Sensors
	flat      flattener
	sample    Sample
	at        map[string]int // index of each sensor in the sample, once it has many
	left      int            // how many more values may come
	room      int            // bytes that values take
	doubtful  bool
	named     string // in long form, the sensor that the row has a value of
	refused   []Refusal
	more      int      // refusals that are only counted
	met       []string // sensors of several values that differ
	explains  bool
	explained []Explanation // of each value, if explains
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

// manySensors is the number of values from which sensors are looked up in a map.
const manySensors = 16

// set adds m. Where its sensor has another value in the same reading already, as a-b and a.b are both a_b, neither
// counts: which is the right one is not known.
func (w *sampling) set(m SensorValue) {
	if i := w.find(m.Sensor); i >= 0 {
		if old := &w.sample.Values[i]; *old != m && old.Is != Ignored {
			old.Is = Ignored
			w.met = append(w.met, m.Sensor)
			w.refuse(m.Sensor, reasonMet)
		}
		return
	}
	room := Room(m.Sensor, IsLong(w.sample.Key, m.State))
	if w.room+room > MaxRoom {
		w.refuse(m.Sensor, reasonNoRoom)
		return
	}
	w.room += room
	w.sample.Values = append(w.sample.Values, m)
	if w.at != nil {
		w.at[m.Sensor] = len(w.sample.Values) - 1
	}
}

// leaveOutMet removes the values of names that met.
func (w *sampling) leaveOutMet() {
	if len(w.met) == 0 {
		return
	}
	met := func(sensor string) bool { return slices.Contains(w.met, sensor) }
	w.sample.Values = slices.DeleteFunc(w.sample.Values, func(m SensorValue) bool { return m.Is == Ignored })
	w.sample.Exact = slices.DeleteFunc(w.sample.Exact, func(x ExactValue) bool { return met(x.Sensor) })
	w.explained = slices.DeleteFunc(w.explained, func(e Explanation) bool {
		return e.Became != nil && met(e.Became.Sensor)
	})
	w.at = nil
}

// isHeartbeat reports whether the values of the sample only say that the device lives.
func (w *sampling) isHeartbeat() bool {
	if w.sensors.Heartbeat == nil {
		return false
	}
	return w.sensors.Heartbeat.Holds(condition.Row{Sensor: func(name string) condition.Value {
		if i := w.find(name); i >= 0 {
			return w.sample.Values[i].Condition()
		}
		return condition.Value{}
	}})
}

func (w *sampling) explain(e Explanation) {
	if w.explains {
		w.explained = append(w.explained, e)
	}
}

// refuse records why a value is not in the sample.
func (w *sampling) refuse(sensor, reason string) {
	if len(w.refused) == maxRefusals {
		w.more++
		return
	}
	if len(sensor) > maxSensorName {
		sensor = tables.Clip(sensor, maxSensorName)
	}
	w.refused = append(w.refused, Refusal{Row: w.sample.Key.String(), Sensor: sensor, Reason: reason})
}

func (w *sampling) refusals() []Refusal {
	if w.more > 0 {
		w.refused = append(w.refused, Refusal{Row: w.sample.Key.String(),
			Reason: fmt.Sprintf("and %d more of its values", w.more)})
	}
	return w.refused
}
