package fold

import (
	"strings"

	"furrow/jobs/condition"
	"furrow/tables"
	"furrow/tables/schema"
)

// Sensors is what the properties of a device's rows mean. If it is zero, nothing is known.
type Sensors struct {
	// Named are by property, or by the path of a nested value joined with _. Patterns are for the others: the first that
	// matches holds.
	Named    map[string]Meaning
	Patterns []Pattern
	Long     Long
	// Quality is the property whose values say how good the whole reading is, or empty. Processors do not see it.
	Quality string
	Good    []string // values of Quality, as text, that mean good
	// Sequence is the property in which the device numbers its readings, or empty. Folds take it like any other.
	Sequence string
	// Heartbeat holds for readings that only say that the device lives: their values are dropped. It knows sensors by
	// their own names, and no labels. It may be nil.
	Heartbeat *condition.Condition

	Counters map[string]Counter
	Position Position
}

// A Meaning is what one property means.
type Meaning struct {
	As string // name of the sensor; empty: that of the property
	Is SensorKind
	// A number is multiplied by Scale, unless that is zero, and then Offset is added.
	Scale, Offset float64
	Missing       []string // values as sent that stand for none
}

// A Pattern gives a meaning to all properties that begin with Prefix and end with Suffix. A * in As stands for what is
// between the two.
type Pattern struct {
	Prefix, Suffix string
	Meaning
}

// A Long names two properties of rows that are one value each: the sensor's name, and the value. It may be zero.
type Long struct {
	Name  string `yaml:"name,required" is:"sensor" want:"the property that holds the sensor's name"`
	Value string `yaml:"value,required" is:"sensor" want:"the property that holds its value"`
}

// A Position names the sensors that tell where a device is, in degrees; empty: none do.
type Position struct {
	Lat string `yaml:"lat,required" is:"sensor" want:"the name of a sensor, in degrees"`
	Lon string `yaml:"lon,required" is:"sensor" want:"the name of a sensor, in degrees"`
}

// Has reports whether a sensor is one of the position.
func (p Position) Has(sensor string) bool { return sensor == p.Lat || sensor == p.Lon }

// Meaning returns what a property means, with the sensor's name.
func (s *Sensors) Meaning(property string) Meaning {
	m, named := s.Named[property]
	if !named {
		for _, p := range s.Patterns {
			if between, ok := p.between(property); ok {
				m = p.Meaning
				m.As = strings.ReplaceAll(m.As, "*", between)
				break
			}
		}
	}
	if m.As == "" {
		m.As = property
	}
	return m
}

// Compares reports whether numbers of a sensor say how a device is beside others. Counters and positions do not. s may
// be nil.
func (s *Sensors) Compares(sensor string) bool {
	return s == nil || s.Counter(sensor) == nil && sensor != s.Sequence && !s.Position.Has(sensor)
}

// Counter returns which counter a sensor is, or nil.
func (s *Sensors) Counter(sensor string) *Counter {
	if c, is := s.Counters[sensor]; is {
		return &c
	}
	return nil
}

// Makes reports whether readings can have values of a sensor.
func (s *Sensors) Makes(sensor string) bool {
	if m := s.Meaning(sensor); m.Is != Ignored && m.As == sensor {
		return true
	}
	for _, m := range s.Named {
		if m.As == sensor && m.Is != Ignored {
			return true
		}
	}
	for _, p := range s.Patterns {
		before, after, any := strings.Cut(p.As, "*")
		if any && p.Is != Ignored && strings.HasPrefix(sensor, before) && strings.HasSuffix(sensor, after) {
			return true
		}
	}
	return false
}

// between returns what the pattern's * stands for.
func (p Pattern) between(property string) (string, bool) {
	rest, ok := strings.CutPrefix(property, p.Prefix)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, p.Suffix)
}

// scaled returns a number in the unit of its sensor. The conversion keeps compilers from rounding both steps as one,
// so that results are the same on all processors.
func (m Meaning) scaled(f float64) float64 {
	if m.Scale != 0 {
		f = float64(f * m.Scale)
	}
	if m.Offset != 0 { // adding zero would make -0 into 0
		f += m.Offset
	}
	return f
}

// sensorOf returns the sensor that a row in long form has a value of, in the characters that a property's name allows.
func (l Long) sensorOf(r schema.Reading) string {
	for i := range r.Properties {
		if p := &r.Properties[i]; p.Name == l.Name && p.Value.Type() == tables.TypeString {
			tag := strings.TrimSpace(p.Value.Text())
			if tag == "" {
				return ""
			}
			return schema.PropertyName(tag[:min(len(tag), maxSensorName+1)])
		}
	}
	return ""
}

// Condition returns the value for a condition.
func (m SensorValue) Condition() condition.Value {
	if m.Is == State {
		return condition.Text(m.State)
	}
	return condition.Number(m.Number)
}
