package config

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"furrow/jobs/fold"
	"furrow/tables"

	"github.com/goccy/go-yaml/ast"
)

// No reading has a sensor with a longer name.
const (
	maxSensorName = 200 // bytes, as jobs has it
	maxUnit       = 20  // characters
)

// sensorTypes returns the names of jobs.Number, jobs.State and jobs.Ignored.
func sensorTypes() []string { return []string{"number", "state", "ignored"} }

func typeOf(word string) (fold.SensorKind, bool) {
	i := slices.Index(sensorTypes(), word)
	return fold.Number + fold.SensorKind(i), i >= 0
}

// typeName returns the name of a kind other than AsSent.
func typeName(kind fold.SensorKind) string { return sensorTypes()[kind-fold.Number] }

func (r *reader) sensors(to *map[string]Sensor) key {
	const want = "a map of sensors and what they are, such as door: state"
	return key{name: "sensors", read: func(n ast.Node) {
		all := map[string]Sensor{}
		r.within("sensors", func() {
			_, _ = r.pairs(n, want, func(name string, at, value ast.Node) {
				if wrong := checkPattern(name); wrong != "" {
					r.problem(at, "sensor %s %s", quote(name), wrong)
				}
				r.within(quote(name), func() {
					if s, ok := r.sensor(name, value); ok {
						all[name] = s
					}
				})
			})
		})
		if len(all) > 0 {
			*to = all
		}
	}}
}

// checkPattern returns what is wrong with a property, or a pattern of properties.
func checkPattern(name string) (wrong string) {
	if name == "*" {
		return ""
	}
	if prefix, suffix, is := strings.Cut(name, "*"); is && !strings.Contains(suffix, "*") {
		return checkSensor("x" + prefix + suffix)
	} else if is {
		return "has more than one *"
	}
	return checkSensor(name)
}

// checkSensor returns why no reading can have a sensor of that name. A sensor's name is that of its property, or the
// path to a nested value joined with _.
func checkSensor(name string) (wrong string) {
	e := tables.Entity{PartitionKey: "device", RowKey: "row"}
	e.Set(name, tables.Boolean(true))
	switch {
	case len(name) > maxSensorName:
		return "has a name of " + strconv.Itoa(len(name)) + " bytes; want at most " + strconv.Itoa(maxSensorName)
	case fold.IsReserved(name):
		return "is a name that outputs reserve; remove it"
	case name == "PartitionKey" || name == "RowKey" || name == "Timestamp":
		return "is a key or the timestamp, not a sensor; remove it"
	case e.Check() != nil:
		return "cannot be the name of a property; want letters, digits and _, not beginning with a digit"
	}
	return ""
}

// sensor reads a sensor in its short form (state) or its long one ({type: number, unit: °C}).
func (r *reader) sensor(name string, n ast.Node) (s Sensor, ok bool) {
	of, ok := r.value(n)
	if !ok {
		return s, false
	}
	if _, long := of.(*ast.MappingNode); !long {
		ok = r.sensorType("", of, &s.Type)
		return s, ok
	}
	before := len(r.problems)
	r.object(of, "a map like {as: oil, type: number, unit: °F, scale: 1.8, offset: 32}",
		key{name: "as", read: func(n ast.Node) { s.As = r.as(name, n) }},
		key{name: "type", read: func(n ast.Node) { r.sensorType("type ", n, &s.Type) }},
		key{name: "unit", read: func(n ast.Node) { s.Unit = r.unit(n, s.Type) }},
		key{name: "scale", read: func(n ast.Node) { s.Scale = r.factor("scale", n, s.Type) }},
		key{name: "offset", read: func(n ast.Node) { s.Offset = r.factor("offset", n, s.Type) }},
		key{name: "counter", read: func(n ast.Node) { s.Counter = r.counter(n, s.Type) }})
	switch {
	case len(r.problems) > before:
	case s == Sensor{}:
		r.problem(of, "nothing; want as, type, or what a number is: unit, scale, offset or counter")
	case s.Type == fold.Ignored && s.As != "":
		r.problem(of, "as %s of what is ignored; remove one of both", quote(s.As))
	case s.Counter && strings.Contains(name, "*"):
		r.problem(of, "counter of a pattern; name each counter")
	}
	return s, len(r.problems) == before
}

// as reads the name of a sensor. That of a pattern can have a *, for what the pattern's stands for.
func (r *reader) as(of string, n ast.Node) string {
	text, at, ok := r.scalar("as", n, "the name of the sensor")
	if !ok {
		return ""
	}
	check := checkSensor
	if strings.Contains(of, "*") {
		check = checkPattern
	}
	if wrong := check(text); wrong != "" {
		r.problem(at, "sensor %s %s", quote(text), wrong)
	}
	return text
}

// factor reads what a number is multiplied by, or what is added.
func (r *reader) factor(name string, n ast.Node, of fold.SensorKind) float64 {
	const want = "a number other than 0, such as 0.1"
	text, at, ok := r.scalar(name, n, want)
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case ok && (err != nil || f == 0 || math.IsNaN(f) || math.IsInf(f, 0)):
		r.problem(at, "%s %s; want %s", name, quote(text), want)
	case of == fold.State || of == fold.Ignored:
		r.problem(at, "%s of a sensor of type %s; only numbers have one", name, typeName(of))
	}
	return f
}

func (r *reader) sensorType(what string, n ast.Node, to *fold.SensorKind) (ok bool) {
	want := list(sensorTypes()) + ", or a map like {type: number, unit: °C}"
	text, at, ok := r.scalar("type", n, want)
	if !ok {
		return false
	}
	kind, ok := typeOf(text)
	if ok {
		*to = kind
	} else {
		r.problem(at, "unknown %s%s%s; want %s", what, quote(text), didYouMean(text, sensorTypes()), want)
	}
	return ok
}

func (r *reader) counter(n ast.Node, of fold.SensorKind) bool {
	const want = "true, for a number that falls only when it restarts from zero, or false"
	text, at, ok := r.scalar("counter", n, want)
	is, err := strconv.ParseBool(text)
	switch {
	case ok && (err != nil || len(text) < len("true")):
		r.problem(at, "counter %s; want %s", quote(text), want)
	case is && (of == fold.State || of == fold.Ignored):
		r.problem(at, "counter of a sensor of type %s; only numbers can be counters", typeName(of))
	}
	return is
}

func (r *reader) unit(n ast.Node, of fold.SensorKind) string {
	want := "a text of 1 to " + strconv.Itoa(maxUnit) + " printable characters"
	text, at, ok := r.scalar("unit", n, want)
	switch {
	case ok && !printable(text, maxUnit):
		r.problem(at, "unit %s; want %s", quote(text), want)
	case of == fold.State || of == fold.Ignored:
		r.problem(at, "unit %s of a sensor of type %s; only numbers have units", quote(text), typeName(of))
	}
	return text
}

func printable(s string, most int) bool {
	for _, c := range s {
		if !unicode.IsPrint(c) || c == utf8.RuneError {
			return false
		}
	}
	return s != "" && utf8.RuneCountInString(s) <= most
}
