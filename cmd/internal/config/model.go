package config

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml/ast"
)

// A Model is what the rows of one kind of device mean.
type Model struct {
	Name  string     `yaml:",name"` // empty: of the devices of no other model
	Match fold.Match `yaml:"match"`
	Meaning
}

// Meaning is what rows mean.
type Meaning struct {
	Sensors map[string]Sensor `yaml:"sensors"` // by property, or by pattern with one *
	Long    fold.Long         `yaml:"long" want:"a map like {name: tagName, value: value}"`
	Quality Quality           `yaml:"quality" want:"a map like {sensor: quality, good: [good]}"`
	// Heartbeat is a condition that holds for readings that only say that the device lives; empty: for none. It is about
	// sensors alone: a label that changes would change the past.
	Heartbeat string        `yaml:"heartbeat" is:"heartbeat" want:"a condition, such as action == nil && mass == nil"`
	Position  fold.Position `yaml:"position" want:"a map like {lat: latitude, lon: longitude}"`
	// Every is the stated interval between two readings of a device; zero: its enrollment may state one. It changes no
	// output.
	Every time.Duration `yaml:"every" least:"1s" most:"31d" want:"a duration such as 1h: how often a device sends"`
	// Sequence is the property, or the part of an object, in which the device numbers its readings; empty: there is none.
	Sequence string `yaml:"sequence" is:"sensor" want:"the name of the property in which devices number their readings"`
}

// A Sensor is the meaning of a property's values.
type Sensor struct {
	As   string          `yaml:"as" is:"word" want:"the name of the sensor"` // empty: that of the property
	Type fold.SensorKind `yaml:"type"`
	Unit string          `yaml:"unit" least:"1" most:"20" want:"a text of 1 to 20 printable characters"` // of a number
	// A number is first multiplied by Scale, unless that is zero, and then Offset is added.
	Scale   float64  `yaml:"scale" is:"factor"`
	Offset  float64  `yaml:"offset" is:"factor"`
	Missing []string `yaml:"missing" is:"sent" want:"a list of the values that stand for none, such as [-9999, 99.9]"`
	Counter *Counter `yaml:"counter"` // nil: it is none
}

// A Counter is a number that only rises, until it restarts from zero.
type Counter struct {
	Max  float64 `yaml:"max" want:"the greatest number that it sends before it goes on with 0, such as 65535"`
	Dips float64 `yaml:"dips" is:"share" default:"1%" want:"how far it may fall without a restart: above 0%, up to 100%"`
}

// Quality names the property that tells how good a whole reading is, and its good values. It may be zero.
type Quality struct {
	Sensor string   `yaml:"sensor,required" is:"sensor" want:"the name of the sensor that tells the quality"`
	Good   []string `yaml:"good,required" is:"sent" want:"a list of the values that are good, such as [good, 192]"`
}

func (q *Quality) check(r *reader, _, n ast.Node, _ bool) {
	if len(q.Good) > maxSent {
		r.problem(r.child(n, "good"), "good has %d values; want at most %d", len(q.Good), maxSent)
	}
}

func (m *Model) check(r *reader, at, n ast.Node, clean bool) {
	if _, err := schema.ParseModel(m.Name); err != nil {
		r.mistake(at, err)
	}
	m.Meaning.check(r, at, n, clean)
}

func (m *Meaning) check(r *reader, _, n ast.Node, _ bool) {
	if c, err := condition.Parse(m.Heartbeat); err == nil && c.Labels() {
		r.problem(r.child(n, "heartbeat"), "heartbeat asks for labels, which can change later; want sensors only")
	}
	if _, both := m.Sensors[m.Quality.Sensor]; both && m.Quality.Sensor != "" {
		r.within("quality", func() {
			r.problem(r.child(r.child(n, "quality"), "sensor"), "sensor %s is also among the sensors; remove it there, because "+
				"processors do not see it", quote(m.Quality.Sensor))
		})
	}
}

// Model returns the model of a device.
func (c *Config) Model(d schema.Member) *Model { return &c.Models[modelOf(c.Models, d)] }

// ModelOf returns the model of a device.
func (p Pipeline) ModelOf(d schema.Member) *Model { return &p.Models[modelOf(p.Models, d)] }

// modelOf returns the index of a device's model. The last one is for those of no other.
func modelOf(models []Model, d schema.Member) int {
	last := len(models) - 1
	i := fold.ModelOf(models[:last], d, func(m Model) (string, fold.Match) { return m.Name, m.Match })
	if i < 0 {
		return last
	}
	return i
}

// name returns what the sensor is called, of a property or a pattern.
func (s Sensor) name(property string) string { return cmp.Or(s.As, property) }

// Unit returns the unit of a sensor, if there is one.
func (m *Model) Unit(sensor string) string {
	first := ""
	for property, s := range m.Sensors { // sorting them for each value of an answer would cost more
		if (first == "" || property < first) && !strings.Contains(property, "*") && s.Unit != "" &&
			s.name(property) == sensor {
			first = property
		}
	}
	if first != "" {
		return m.Sensors[first].Unit
	}
	for _, pattern := range m.patterns() {
		s := m.Sensors[pattern]
		prefix, suffix, _ := strings.Cut(s.name(pattern), "*")
		if s.Unit != "" && strings.HasPrefix(sensor, prefix) && strings.HasSuffix(sensor, suffix) {
			return s.Unit
		}
	}
	return ""
}

// Meant returns what tells the meaning of a device's rows.
func (p Pipeline) Meant() func(schema.Member) *fold.Sensors {
	all := make([]fold.Sensors, len(p.Models))
	for i := range p.Models {
		all[i] = p.Models[i].Meant()
	}
	return func(d schema.Member) *fold.Sensors { return &all[modelOf(p.Models, d)] }
}

// Unit returns the unit of a sensor in the models of these names, or in all if none is given; empty where they differ.
func (p Pipeline) Unit(sensor string, models ...string) (unit string) {
	for i := range p.Models {
		m := &p.Models[i]
		if len(models) > 0 && !slices.Contains(models, m.Name) {
			continue
		}
		own := m.Unit(sensor)
		if own != "" && unit != "" && own != unit {
			return ""
		}
		unit = cmp.Or(unit, own)
	}
	return unit
}

// properties returns the properties and patterns by name. Of several with the name of one sensor, the first says what
// its unit is, and which counter it is.
func (m *Model) properties() []string { return slices.Sorted(maps.Keys(m.Sensors)) }

// patterns returns the patterns, those with most literal characters first.
func (m *Model) patterns() []string {
	return slices.SortedFunc(func(yield func(string) bool) {
		for name := range m.Sensors {
			if strings.Contains(name, "*") && !yield(name) {
				return
			}
		}
	}, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
}

// Meant returns the model's sensors for jobs.
func (m *Model) Meant() fold.Sensors {
	s := fold.Sensors{Named: map[string]fold.Meaning{}, Long: m.Long, Quality: m.Quality.Sensor, Good: m.Quality.Good,
		Position: m.Position, Sequence: m.Sequence}
	if m.Heartbeat != "" {
		var err error
		if s.Heartbeat, err = condition.Parse(m.Heartbeat); err != nil {
			panic(err) // checked when the file was read
		}
	}
	for _, property := range m.properties() {
		sensor := m.Sensors[property]
		if !strings.Contains(property, "*") {
			s.Named[property] = sensor.meaning()
		}
		if name := sensor.name(property); sensor.Counter != nil && s.Counter(name) == nil {
			if s.Counters == nil {
				s.Counters = map[string]fold.Counter{}
			}
			s.Counters[name] = sensor.counter()
		}
	}
	for _, pattern := range m.patterns() {
		prefix, suffix, _ := strings.Cut(pattern, "*")
		s.Patterns = append(s.Patterns, fold.Pattern{Prefix: prefix, Suffix: suffix, Meaning: m.Sensors[pattern].meaning()})
	}
	return s
}

func (s Sensor) meaning() fold.Meaning {
	return fold.Meaning{As: s.As, Is: s.Type, Scale: s.Scale, Offset: s.Offset, Missing: s.Missing}
}

// counter returns the counter in the unit of the sensor. Beyond its greatest number it goes on with zero, a step of its
// last digit later: after 65535 come 65536 numbers, and after 99.9 a thousand tenths.
func (s Sensor) counter() fold.Counter {
	c := fold.Counter{Zero: s.Offset, Dips: s.Counter.Dips}
	if s.Counter.Max > 0 {
		_, decimals, _ := strings.Cut(strconv.FormatFloat(s.Counter.Max, 'f', -1, 64), ".")
		tens := math.Pow10(len(decimals))
		c.Wrap = math.Abs(cmp.Or(s.Scale, 1)) * ((s.Counter.Max*tens + 1) / tens)
	}
	return c
}
