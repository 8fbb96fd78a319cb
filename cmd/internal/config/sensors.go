package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"furrow/jobs/fold"
	"furrow/tables"

	"github.com/goccy/go-yaml/ast"
)

// maxSensorName is how many bytes a sensor's name may have, as jobs has it.
const maxSensorName = 200

// sensorTypes returns the names of jobs.Number, jobs.State and jobs.Ignored.
func sensorTypes() []string { return []string{"number", "state", "ignored"} }

func typeOf(word string) (fold.SensorKind, bool) {
	i := slices.Index(sensorTypes(), word)
	return fold.Number + fold.SensorKind(i), i >= 0
}

// typeName returns the name of a kind other than AsSent.
func typeName(kind fold.SensorKind) string { return sensorTypes()[kind-fold.Number] }

// sensors is the kind of what sensors are, by property.
func (f field) sensors(to *map[string]Sensor) kind {
	const want = "a map of sensors and what they are, such as door: state"
	return kind{want: want, item: ".NAME", read: func(n ast.Node) {
		f.r.within(f.name, func() {
			_, _ = f.r.pairs(n, want, func(name string, at, value ast.Node) {
				if wrong := checkPattern(name); wrong != "" {
					f.r.problem(at, "sensor %s %s", quote(name), wrong)
				}
				f.r.within(quote(name), func() { f.r.sensor(to, name, value) })
			})
		})
	}, shown: func() any {
		all := map[quoted]ordered{}
		for name, s := range *to {
			all[quoted(name)] = shown(&s)
		}
		return all
	}, keys: func() []key { return keysOf(nil, &Sensor{}) }}
}

// sensor reads a sensor in its short form (state) or its long one ({type: number, unit: °C}).
func (r *reader) sensor(to *map[string]Sensor, name string, n ast.Node) {
	of, ok := r.value(n)
	if !ok {
		return
	}
	before, s := r.said, Sensor{}
	if _, long := of.(*ast.MappingNode); long {
		r.block(&s, of, of, "a map like {as: oil, type: number, unit: °F, scale: 1.8, offset: 32}")
		s.checkNames(r, name, of, before)
	} else {
		field{r, "type", `short:"type "`}.sensorType(&s.Type).read(of)
	}
	if r.said > before {
		return
	}
	if *to == nil {
		*to = map[string]Sensor{}
	}
	(*to)[name] = s
}

// counter is the kind of a counter, as a map or as true, with the defaults of its keys.
func (f field) counter(to **Counter) kind {
	const want = "true, if it falls only when it restarts from zero, false, or a map like {max: 65535, dips: 1%}"
	defaults := func() *Counter {
		c := &Counter{}
		setDefaults(c)
		return c
	}
	k := f.pointerKind(reflect.ValueOf(to).Elem())
	block := k.read
	k.want = want
	k.read = func(n ast.Node) {
		of, ok := f.r.value(n)
		if !ok {
			return
		}
		if _, long := of.(*ast.MappingNode); long {
			block(of)
			if c := *to; c.Max < 0 {
				f.r.problem(of, "%s: max is %v; want a number above 0", f.name, c.Max)
			}
			return
		}
		var is bool
		field{f.r, f.name, `want:"` + want + `"`}.boolean(&is).read(of)
		if *to = nil; is {
			*to = defaults()
		}
	}
	k.shown = func() any {
		if **to == *defaults() {
			return true
		}
		return shown(*to)
	}
	return k
}

// check reports what only numbers have.
func (s *Sensor) check(r *reader, at, n ast.Node, clean bool) {
	if s.Type == fold.State || s.Type == fold.Ignored {
		of := " of a sensor of type " + typeName(s.Type) + "; only numbers "
		if s.Unit != "" {
			r.problem(r.child(n, "unit"), "unit %s%shave units", quote(s.Unit), of)
		}
		if s.Scale != 0 {
			r.problem(r.child(n, "scale"), "scale%shave one", of)
		}
		if s.Offset != 0 {
			r.problem(r.child(n, "offset"), "offset%shave one", of)
		}
		if s.Counter != nil {
			r.problem(r.child(n, "counter"), "counter%scan be counters", of)
		}
	}
}

// checkNames checks a sensor of a property or a pattern. That of a pattern can have a * in its name, for what the
// pattern's stands for.
func (s *Sensor) checkNames(r *reader, property string, n ast.Node, before int) {
	check, pattern := checkSensor, strings.Contains(property, "*")
	if pattern {
		check = checkPattern
	}
	if as := r.child(n, "as"); as != nil {
		if text, ok := scalar(as); ok && check(text) != "" {
			r.problem(as, "sensor %s %s", quote(text), check(text))
		}
	}
	switch {
	case r.said > before:
	case reflect.ValueOf(*s).IsZero():
		r.problem(n, "nothing; want as, type, missing, or what a number is: unit, scale, offset or counter")
	case s.Type == fold.Ignored && s.As != "":
		r.problem(n, "as %s of what is ignored; remove one of both", quote(s.As))
	case s.Counter != nil && s.Scale < 0:
		r.problem(r.child(n, "scale"), "scale %v of a counter; want one above 0, since a counter rises", s.Scale)
	case len(s.Missing) > maxSent:
		r.problem(r.child(n, "missing"), "missing has %d values; want at most %d", len(s.Missing), maxSent)
	case s.Counter != nil && pattern:
		r.problem(n, "counter of a pattern; name each counter")
	}
}

// sensorType is the kind of number, state or ignored, as a value of a key or as a short sensor.
func (f field) sensorType(to *fold.SensorKind) kind {
	want := list(sensorTypes()) + ", or a map like {type: number, unit: °C}"
	return kind{want: want, shown: func() any { return typeName(*to) }, read: func(n ast.Node) {
		text, at, ok := f.r.scalar(f.name, n, want)
		kind, known := typeOf(text)
		if *to = kind; ok && !known {
			what := strings.TrimPrefix(f.name+" "+quote(text), f.tag.Get("short"))
			f.r.problem(at, "unknown %s%s; want %s", what, didYouMean(text, sensorTypes()), want)
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
