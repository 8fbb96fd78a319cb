package config

import (
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"furrow/jobs"
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

func typeOf(word string) (jobs.SensorKind, bool) {
	i := slices.Index(sensorTypes(), word)
	return jobs.Number + jobs.SensorKind(i), i >= 0
}

// typeName returns the name of a kind other than AsSent.
func typeName(kind jobs.SensorKind) string { return sensorTypes()[kind-jobs.Number] }

func (r *reader) sensors(to *map[string]Sensor) key {
	return key{name: "sensors", read: func(n ast.Node) {
		all := map[string]Sensor{}
		r.within("sensors", func() {
			_, _ = r.pairs(n, "a map of sensors and what they are, such as door: state", func(name string, at, value ast.Node) {
				if wrong := checkSensor(name); wrong != "" {
					r.problem(at, "sensor %s %s", quote(name), wrong)
				}
				r.within(quote(name), func() {
					if s, ok := r.sensor(value); ok {
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

// checkSensor returns why no reading can have a sensor of that name. A sensor's name is that of its property, or the
// path to a nested value joined with _.
func checkSensor(name string) (wrong string) {
	e := tables.Entity{PartitionKey: "device", RowKey: "row"}
	e.Set(name, tables.Boolean(true))
	switch {
	case len(name) > maxSensorName:
		return "has a name of " + strconv.Itoa(len(name)) + " bytes; want at most " + strconv.Itoa(maxSensorName)
	case jobs.IsReserved(name):
		return "is a name that outputs reserve; remove it"
	case name == "PartitionKey" || name == "RowKey" || name == "Timestamp":
		return "is a key or the timestamp, not a sensor; remove it"
	case e.Check() != nil:
		return "cannot be the name of a property; want letters, digits and _, not beginning with a digit"
	}
	return ""
}

// sensor reads a sensor in its short form (state) or its long one ({type: number, unit: °C}).
func (r *reader) sensor(n ast.Node) (s Sensor, ok bool) {
	of, ok := r.value(n)
	if !ok {
		return s, false
	}
	if _, long := of.(*ast.MappingNode); !long {
		ok = r.sensorType("", of, &s.Type)
		return s, ok
	}
	before := len(r.problems)
	r.object(of, "type: "+list(sensorTypes())+", and for a number its unit",
		key{name: "type", must: true, read: func(n ast.Node) { r.sensorType("type ", n, &s.Type) }},
		key{name: "unit", read: func(n ast.Node) { s.Unit = r.unit(n, s.Type) }},
		key{name: "counter", read: func(n ast.Node) { s.Counter = r.counter(n, s.Type) }})
	return s, len(r.problems) == before
}

func (r *reader) sensorType(what string, n ast.Node, to *jobs.SensorKind) (ok bool) {
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

func (r *reader) counter(n ast.Node, of jobs.SensorKind) bool {
	const want = "true, for a number that falls only when it restarts from zero, or false"
	text, at, ok := r.scalar("counter", n, want)
	is, err := strconv.ParseBool(text)
	switch {
	case ok && (err != nil || len(text) < len("true")):
		r.problem(at, "counter %s; want %s", quote(text), want)
	case is && (of == jobs.State || of == jobs.Ignored):
		r.problem(at, "counter of a sensor of type %s; only numbers can be counters", typeName(of))
	}
	return is
}

func (r *reader) unit(n ast.Node, of jobs.SensorKind) string {
	want := "a text of 1 to " + strconv.Itoa(maxUnit) + " printable characters"
	text, at, ok := r.scalar("unit", n, want)
	switch {
	case ok && !printable(text, maxUnit):
		r.problem(at, "unit %s; want %s", quote(text), want)
	case of == jobs.State || of == jobs.Ignored:
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
