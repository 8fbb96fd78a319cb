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
	return s.sample(r, nil)
}

func (s *Sensors) sample(r schema.Reading, became func(Explanation)) (Sample, []Refusal) {
	w := sampling{sensors: s, left: MaxSensors, became: became, sample: Sample{Key: r.Key,
		Values: make([]SensorValue, 0, len(r.Properties))}}
	if s.Long != (Long{}) {
		w.named = s.Long.sensorOf(r)
	}
	for i := range r.Properties {
		if r.Properties[i].Name == schema.AckProperty {
			continue // it is about a command, whatever the model
		}
		w.property(r.Properties[i].Name, r.Properties[i].Value)
	}
	if w.isHeartbeat() {
		w.sample.Values = nil
	}
	if w.doubtful {
		for i := range w.sample.Values {
			w.sample.Values[i].Doubtful = true
		}
	}
	return w.sample, w.refusals()
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
	sensors  *Sensors
	flat     flattener
	sample   Sample
	at       map[string]int // index of each sensor in the sample, once it has many
	left     int            // how many more values may come
	room     int            // bytes that values take
	doubtful bool
	named    string // in long form, the sensor that the row has a value of
	refused  []Refusal
	more     int               // refusals that are only counted
	became   func(Explanation) // of each value; may be nil
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
	if w.became != nil {
		w.became(e)
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
