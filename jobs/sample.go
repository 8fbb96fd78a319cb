package jobs

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"furrow/tables"
)

// A Sample is a reading as processors fold it: for each sensor, a finite number
// or a state.
type Sample struct {
	Key    tables.RowKey
	Values []Measured // each sensor once, in the order of the reading
}

// A Measured is what one sensor said.
type Measured struct {
	Sensor   string
	Number   float64 // finite; of a state, not used
	State    string
	Is       SensorKind // Number or State
	Doubtful bool       // its quality is not good: it counts as newest, and in no rollup
}

// A SensorKind says how a sensor's values are meant.
type SensorKind uint8

const (
	AsSent  SensorKind = iota // numbers, numeric texts and booleans are numbers; other texts are states
	Number                    // a value that is no number is refused
	State                     // every value is taken as text
	Ignored                   // it does not exist
)

// Sensors say what is known of a device's sensors. Zero: nothing is.
type Sensors struct {
	Kinds map[string]SensorKind // by sensor; of those not named, AsSent
	// Quality is the sensor whose values tell how good the whole reading is; empty:
	// there is none. It is no sensor to the processors.
	Quality string
	Good    []string // the values of Quality, as text, that are good
}

// Sample reads a reading. What cannot be a value is refused, and the others stand.
func (s *Sensors) Sample(r tables.Reading) (Sample, []Refusal) {
	sample := Sample{Key: r.Key, Values: make([]Measured, 0, len(r.Properties))}
	var refused []Refusal
	doubtful := false
	refuse := func(sensor, reason string) {
		refused = append(refused, Refusal{Row: r.Key.String(), Sensor: sensor, Reason: reason})
	}
	add := func(sensor string, v tables.Value) {
		if sensor == s.Quality && sensor != "" {
			doubtful = !slices.Contains(s.Good, v.String())
			return
		}
		m, reason := measure(sensor, v, s.Kinds[sensor])
		switch {
		case sensor == FenceProperty:
			refuse(sensor, "its name is one that outputs have for themselves")
		case len(sensor) > maxSensorName:
			refuse(sensor[:maxSensorName]+"…", "its name has more than "+strconv.Itoa(maxSensorName)+" bytes")
		case reason != "":
			refuse(sensor, reason)
		case m.Is != Ignored:
			sample.set(m)
		}
	}
	for _, p := range r.Properties {
		if err := flatten(p.Name, p.Value, add); err != nil {
			refuse(p.Name, err.Error())
		}
	}
	if len(sample.Values) > MaxSensors {
		refuse("", "it has "+strconv.Itoa(len(sample.Values))+" sensors; at most "+strconv.Itoa(MaxSensors)+" are kept")
		sample.Values = nil
	}
	for i := range sample.Values {
		sample.Values[i].Doubtful = doubtful
	}
	return sample, refused
}

// set adds m, or puts it in place of what its sensor said before in the same reading.
func (s *Sample) set(m Measured) {
	for i := range s.Values {
		if s.Values[i].Sensor == m.Sensor {
			s.Values[i] = m
			return
		}
	}
	s.Values = append(s.Values, m)
}

// Bounds of what outputs hold hundreds of, in bytes. A sensor's name is that of a
// property, which Azure bounds at 255 characters.
const (
	maxState      = 256
	maxSensorName = 200
)

// measure reads a value as its sensor is meant, or says why it cannot be.
func measure(sensor string, v tables.Value, kind SensorKind) (m Measured, reason string) {
	m = Measured{Sensor: sensor, Is: kind}
	switch kind {
	case Ignored:
		return m, ""
	case State:
		m.State = v.String()
		return m, tooLong(m.State)
	}
	number, is := numberOf(v)
	switch {
	case is && (math.IsNaN(number) || math.IsInf(number, 0)):
		return m, "it is not finite"
	case is:
		m.Is, m.Number = Number, number
		return m, ""
	case kind == Number:
		return m, "it is no number"
	case v.Type() == tables.TypeBinary:
		m.Is = Ignored // bytes are no measurement; the archive has them
		return m, ""
	}
	m.Is, m.State = State, v.String()
	return m, tooLong(m.State)
}

func tooLong(state string) string {
	if len(state) > maxState {
		return "it is a text of more than " + strconv.Itoa(maxState) + " bytes"
	}
	return ""
}

// numberOf is the number that v means: many devices send "78.8" or true.
func numberOf(v tables.Value) (float64, bool) {
	switch v.Type() {
	case tables.TypeInt32, tables.TypeInt64, tables.TypeDouble:
		return v.Float(), true
	case tables.TypeBoolean:
		if v.Boolean() {
			return 1, true
		}
		return 0, true
	case tables.TypeString:
		text := strings.TrimSpace(v.Text())
		if text == "" || strings.ContainsAny(text, "xX_pP") { // forms that only Go reads
			return 0, false
		}
		f, err := strconv.ParseFloat(text, 64)
		return f, err == nil || math.IsInf(f, 0) // beyond what a double holds it is not finite
	}
	return 0, false
}
