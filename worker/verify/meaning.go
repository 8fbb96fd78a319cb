package verify

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"furrow/tables"
	"furrow/tables/made"
	"furrow/tables/schema"
)

// What is kept of a row, at most.
const (
	mostValues  = 1000
	mostName    = 200 // bytes
	mostText    = 256
	mostSuffix  = 64
	mostNesting = 8
	roomOfRow   = 127 << 10 // that names and texts take
	longText    = 40        // together with the suffix of the row key
)

// A Value is a number or a text of a sensor.
type Value struct {
	Sensor   string
	Number   float64
	Text     string
	IsText   bool
	Doubtful bool // its quality is not good
}

// room is what a value takes at most, whatever it is.
func (v *Value) room(suffix string) int {
	if v.long(suffix) {
		return 16 + len(v.Sensor) + mostText + mostSuffix
	}
	return 16 + len(v.Sensor) + longText
}

func (v *Value) long(suffix string) bool {
	return v.IsText && len(v.Text)+len(suffix) > longText || len(suffix) > longText
}

// A reading is a row as its model means it.
type reading struct {
	row      string
	key      schema.RowKey
	valid    bool // the key is one of a reading
	values   []Value
	exact    []exactValue
	refused  bool     // something of the row
	unclear  []string // sensors with several values that differ
	doubtful bool
	number   uint64 // in the property that the model names
	numbered bool   // it has one
	room     int
	size     int // that storage charges
	stored   tables.Ticks
}

// read returns what a row means.
func (m *Model) read(e *tables.Entity) reading {
	r := reading{row: e.RowKey, size: e.Size(), stored: e.Timestamp}
	var err error
	if r.key, err = schema.ParseRowKey(e.RowKey); err != nil {
		r.refused = true
		return r
	}
	r.valid = true
	left, named, always := mostValues, m.tag(e), false
	for _, p := range e.Properties {
		name := p.Name
		switch {
		case schema.SaysDoubtful(p):
			always = true
			continue
		case name == schema.AckProperty || name == m.LongName && name != "":
			continue
		case name == m.LongValue && name != "":
			if name = named; name == "" {
				r.refused = true
				continue
			}
		}
		found, ok := leaves(name, p.Value, left, &r.refused)
		if !ok {
			r.refused = true
			continue
		}
		left -= len(found)
		for _, l := range found {
			m.addValue(&r, l.Name, l.Value)
		}
	}
	r.clear()
	if m.Heartbeat != nil && m.Heartbeat(r.value) {
		r.values = nil
	}
	r.exact = slices.DeleteFunc(r.exact, func(x exactValue) bool { // the value was refused, or is a heartbeat's
		return x.value.Type() == tables.TypeInt64 && !slices.ContainsFunc(r.values, func(v Value) bool {
			return v.Sensor == x.sensor
		})
	})
	for i := range r.values {
		r.values[i].Doubtful = r.doubtful || always
	}
	return r
}

// tag returns the sensor that a row in long form has a value of.
func (m *Model) tag(e *tables.Entity) string {
	v := e.Get(m.LongName)
	if m.LongName == "" || v.Type() != tables.TypeString {
		return ""
	}
	tag := strings.TrimSpace(v.Text())
	if tag == "" {
		return ""
	}
	return schema.PropertyName(tag[:min(len(tag), mostName+1)])
}

// addValue adds the value of a property, or refuses it.
func (m *Model) addValue(r *reading, name string, v tables.Value) {
	if name == m.Sequence && name != "" {
		r.number, r.numbered = made.NumberOf(v)
	}
	if m.Quality != "" && name == m.Quality {
		r.doubtful = !slices.Contains(m.Good, v.String())
		return
	}
	means := m.meaning(name)
	if means.Kind == Ignored {
		return
	}
	if len(means.As) > mostName || reserved(means.As) || tables.CheckName(means.As) != nil {
		r.refused = true
		return
	}
	if means.missing(v) {
		return
	}
	value, is, wrong := means.understand(v)
	r.exactly(means.As, v, value, is, wrong)
	if r.refused = r.refused || wrong; wrong || !is {
		return
	}
	value.Sensor = means.As
	if i := slices.IndexFunc(r.values, func(o Value) bool { return o.Sensor == value.Sensor }); i >= 0 {
		if r.values[i] != value { // no one knows which is meant
			r.unclear = append(r.unclear, value.Sensor)
		}
		return
	}
	room := value.room(r.key.Suffix)
	if r.room+room > roomOfRow {
		r.refused = true
		return
	}
	r.room += room
	r.values = append(r.values, value)
}

// clear leaves out sensors with several values.
func (r *reading) clear() {
	if len(r.unclear) == 0 {
		return
	}
	r.refused = true
	r.values = slices.DeleteFunc(r.values, func(v Value) bool { return slices.Contains(r.unclear, v.Sensor) })
	r.exact = slices.DeleteFunc(r.exact, func(x exactValue) bool { return slices.Contains(r.unclear, x.sensor) })
}

// noValue are texts that stand for no number.
var noValue = regexp.MustCompile(`(?i)^(-|na|n/a|nan|null|none|unavailable|unknown)?$`)

// missing reports whether a value says that there is none.
func (m Meaning) missing(v tables.Value) bool {
	text, isText := strings.TrimSpace(v.String()), v.Type() == tables.TypeString
	noNumber := isText && noValue.MatchString(text) || v.Type() == tables.TypeDouble && math.IsNaN(v.Float())
	if m.Kind == Number && noNumber {
		return true
	}
	n, numeric := number(v, true)
	for _, none := range m.Missing {
		f, err := strconv.ParseFloat(none, 64)
		if text == none || numeric && err == nil && f == n && v.Type() != tables.TypeBoolean {
			return true
		}
	}
	return false
}

func (m *Model) meaning(property string) Meaning {
	means, named := m.Named[property]
	for i := 0; i < len(m.Patterns) && !named; i++ {
		p := m.Patterns[i]
		if len(property) < len(p.Prefix)+len(p.Suffix) || !strings.HasPrefix(property, p.Prefix) ||
			!strings.HasSuffix(property, p.Suffix) {
			continue
		}
		means, named = p.Meaning, true
		means.As = strings.ReplaceAll(p.As, "*", property[len(p.Prefix):len(property)-len(p.Suffix)])
	}
	if means.As == "" {
		means.As = property
	}
	return means
}

// reserved tells the properties of outputs that belong to no sensor.
func reserved(name string) bool {
	switch name {
	case "_fence", "_parts", "_heard", "_readings", schema.FormatProperty, schema.SiteProperty, schema.LabelsProperty,
		schema.DevicesProperty, schema.MoreProperty, schema.StoredProperty:
		return true
	}
	return false
}

// Numbers in texts. One with a leading zero is an identifier, unless its sensor is a number.
var (
	decimal     = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)
	leadingZero = regexp.MustCompile(`^[+-]?0\d`)
	infinite    = regexp.MustCompile(`(?i)^(nan|[+-]?inf|[+-]?infinity)$`)
)

// understand converts a value. One without is is no measurement, and a wrong one is refused.
func (m Meaning) understand(v tables.Value) (value Value, is, wrong bool) {
	if m.Kind != State {
		n, numeric := number(v, m.Kind == Number)
		if numeric {
			if m.Scale != 0 {
				n = float64(n * m.Scale) // rounded by itself, on every processor
			}
			if m.Offset != 0 {
				n += m.Offset
			}
			return Value{Number: n}, true, math.IsNaN(n) || math.IsInf(n, 0)
		}
		if m.Kind == Number {
			return value, false, true
		}
		if v.Type() == tables.TypeBinary {
			return value, false, false
		}
	}
	text := strings.ToValidUTF8(v.String(), "\uFFFD")
	return Value{IsText: true, Text: text}, true, len(text) > mostText
}

// number returns the number that a value is.
func number(v tables.Value, known bool) (n float64, is bool) {
	switch v.Type() {
	case tables.TypeBoolean:
		if v.Boolean() {
			return 1, true
		}
		return 0, true
	case tables.TypeInt32, tables.TypeInt64, tables.TypeDouble:
		return v.Float(), true
	case tables.TypeString:
		text := strings.TrimSpace(v.Text())
		switch {
		case infinite.MatchString(text):
			return math.NaN(), true
		case !decimal.MatchString(text) || !known && leadingZero.MatchString(text):
			return 0, false
		}
		n, err := strconv.ParseFloat(text, 64)
		return n, err == nil || known
	}
	return 0, false
}

func (r *reading) value(sensor string) (Value, bool) {
	for _, v := range r.values {
		if v.Sensor == sensor {
			return v, true
		}
	}
	return Value{}, false
}

// at returns a number of good quality.
func (r *reading) at(sensor string) (n float64, is bool) {
	v, is := r.value(sensor)
	return v.Number, is && sensor != "" && !v.IsText && !v.Doubtful
}
