package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml/ast"
)

// A Model is what the rows of one kind of device mean.
type Model struct {
	Name    string // empty: of the devices of no other model
	Match   fold.Match
	Sensors map[string]Sensor // by property, or by pattern with one *
	Long    fold.Long
	Quality Quality
	// Heartbeat is a condition that holds for readings that only say that the device lives; empty: for none.
	Heartbeat string
	Position  fold.Position
	// Sequence is the property, or the part of an object, in which the device numbers its readings; empty: there is none.
	Sequence string
}

// A Sensor is the meaning of a property's values.
type Sensor struct {
	As            string // the sensor's name; empty: that of the property
	Type          fold.SensorKind
	Unit          string  // of a number, for people; may be empty
	Scale, Offset float64 // of a number: first times Scale, unless that is zero, and then plus Offset
	// Counter is a number that falls only when it restarts from zero.
	Counter bool
}

// Quality names the property that tells how good a whole reading is, and its good values. It may be zero.
type Quality struct {
	Sensor string
	Good   []string
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
	for property, s := range m.Sensors {
		if !strings.Contains(property, "*") && s.Unit != "" && s.name(property) == sensor {
			return s.Unit
		}
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

// Unit returns the unit of a sensor in the first model that has one.
func (p Pipeline) Unit(sensor string) string {
	for i := range p.Models {
		if unit := p.Models[i].Unit(sensor); unit != "" {
			return unit
		}
	}
	return ""
}

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
	for property, sensor := range m.Sensors {
		if !strings.Contains(property, "*") {
			s.Named[property] = sensor.meaning()
		}
		if sensor.Counter {
			if s.Counters == nil {
				s.Counters = map[string]bool{}
			}
			s.Counters[sensor.name(property)] = true
		}
	}
	for _, pattern := range m.patterns() {
		prefix, suffix, _ := strings.Cut(pattern, "*")
		s.Patterns = append(s.Patterns, fold.Pattern{Prefix: prefix, Suffix: suffix, Meaning: m.Sensors[pattern].meaning()})
	}
	return s
}

func (s Sensor) meaning() fold.Meaning {
	return fold.Meaning{As: s.As, Is: s.Type, Scale: s.Scale, Offset: s.Offset}
}

// models returns the key for models: the first that matches a device holds.
func (r *reader) models(to *[]Model) key {
	const want = "a map of models, such as fryer: {match: {labels.class: Fryer}, sensors: {oil: number}}"
	return key{name: "models", read: func(n ast.Node) {
		_, _ = r.pairs(n, want, func(name string, at, value ast.Node) {
			m := Model{Name: name}
			r.within("model "+quote(name), func() {
				if _, err := schema.ParseModel(name); err != nil {
					r.problem(at, "%v", err)
				}
				r.object(value, "a map like {match: {labels.class: Fryer}, sensors: {oil: number}}",
					append([]key{r.match(&m.Match)}, r.meaning(&m)...)...)
			})
			*to = append(*to, m)
		})
	}}
}

// meaning returns the keys that say what rows mean, of one model or of the devices of none.
func (r *reader) meaning(m *Model) []key {
	return []key{r.sensors(&m.Sensors), r.long(&m.Long), r.quality(m), r.heartbeat(&m.Heartbeat), r.position(&m.Position),
		r.sequence(&m.Sequence)}
}

// long returns the key for rows that are one value of a named sensor.
func (r *reader) long(to *fold.Long) key {
	return key{name: "long", read: func(n ast.Node) {
		r.within("long", func() {
			r.object(n, "a map like {name: tagName, value: value}",
				r.sensorName("name", "the property that holds the sensor's name", &to.Name, checkSensor),
				r.sensorName("value", "the property that holds its value", &to.Value, checkSensor))
		})
	}}
}

// heartbeat returns the key for a condition. It is about sensors alone: a label that changes would change the past.
func (r *reader) heartbeat(to *string) key {
	const want = "a condition, such as action == nil && mass == nil"
	return key{name: "heartbeat", read: func(n ast.Node) {
		text, at, ok := r.scalar("heartbeat", n, want)
		if !ok {
			return
		}
		c, err := condition.Parse(text)
		switch {
		case err != nil:
			r.problem(at, "heartbeat: %v", err)
		case c.Labels():
			r.problem(at, "heartbeat asks for labels, which can change later; want sensors only")
		default:
			*to = text
		}
	}}
}

// match returns the key for what devices a model has.
func (r *reader) match(to *fold.Match) key { return r.matchOr(to, "", nil) }

// matchOr returns the key for what devices a model or a rule has. Another key may be read beside those of devices.
func (r *reader) matchOr(to *fold.Match, other string, read func(ast.Node)) key {
	const want = "a map of what its devices have, such as {tenant: contoso, labels.class: [Fryer, Oven]}"
	lists := map[string]*[]string{"enrollment": &to.Enrollment, "tenant": &to.Tenant, "site": &to.Site,
		"device": &to.Device}
	return key{name: "match", read: func(n ast.Node) {
		r.within("match", func() {
			m, _ := r.pairs(n, want, func(name string, at, value ast.Node) {
				if name == other && read != nil {
					read(value)
					return
				}
				values := r.anyOf(name, value)
				if label, is := strings.CutPrefix(name, "labels."); is && label != "" {
					if to.Labels == nil {
						to.Labels = map[string][]string{}
					}
					to.Labels[label] = values
				} else if into := lists[name]; into != nil {
					*into = values
				} else {
					names := append(slices.Sorted(maps.Keys(lists)), "labels.NAME")
					if read != nil {
						names = append([]string{other}, names...)
					}
					r.problem(at, "unknown key %s%s; want %s", quote(name), didYouMean(name, names), list(names))
				}
			})
			if m != nil && len(m.Values) == 0 {
				r.problem(n, "nothing; want %s", want)
			}
		})
	}}
}

// anyOf reads one text or a list of them.
func (r *reader) anyOf(name string, n ast.Node) (all []string) {
	const want = "a text, or a list of texts"
	of, ok := r.value(n)
	if !ok {
		return nil
	}
	items := []ast.Node{of}
	if _, several := of.(*ast.SequenceNode); several {
		items = r.items(name, of, want)
	}
	for _, item := range items {
		if text, at, ok := r.scalar(name, item, want); ok {
			if text == "" {
				r.problem(at, "%s is empty; want %s", name, want)
			}
			all = append(all, text)
		}
	}
	return all
}
