package config

import (
	"fmt"
	"slices"
	"strconv"

	"furrow/jobs/fold"
	"furrow/tables"

	"github.com/goccy/go-yaml/ast"
)

// Bounds of the list of good values.
const (
	maxGood     = 100
	maxGoodText = 256 // characters
)

// quality returns the key for the property that tells how good a reading is. It is read after the sensors.
func (r *reader) quality(m *Model) key {
	check := func(name string) string {
		if _, both := m.Sensors[name]; both {
			return "is also among the sensors; remove it there, because processors do not see it"
		}
		return checkSensor(name)
	}
	return key{name: "quality", read: func(n ast.Node) {
		r.within("quality", func() {
			r.object(n, "a map like {sensor: quality, good: [good]}",
				r.sensorName("sensor", "the name of the sensor that tells the quality", &m.Quality.Sensor, check),
				key{name: "good", must: true, read: func(n ast.Node) { m.Quality.Good = r.good(n) }})
		})
	}}
}

// position returns the key for the sensors that tell where a device is.
func (r *reader) position(to *fold.Position) key {
	const want = "the name of a sensor, in degrees"
	return key{name: "position", read: func(n ast.Node) {
		r.within("position", func() {
			r.object(n, "a map like {lat: latitude, lon: longitude}",
				r.sensorName("lat", want, &to.Lat, checkSensor), r.sensorName("lon", want, &to.Lon, checkSensor))
		})
	}}
}

// sequence returns the key for the number of a reading.
func (r *reader) sequence(to *string) key {
	k := r.sensorName("sequence", "the name of the property in which devices number their readings", to, checkSensor)
	k.must = false
	return k
}

// sensorName returns a required key whose value names a sensor. check returns why a name is not valid.
func (r *reader) sensorName(name, want string, to *string, check func(string) string) key {
	return key{name: name, must: true, read: func(n ast.Node) {
		text, at, ok := r.scalar(name, n, want)
		if wrong := check(text); ok && wrong != "" {
			r.problem(at, "sensor %s %s", quote(text), wrong)
		}
		*to = text
	}}
}

func (r *reader) good(n ast.Node) (good []string) {
	const want = "a list of the values that are good, such as [good, 192]"
	items := r.items("good", n, want)
	if len(items) > maxGood {
		r.problem(n, "good has %d values; want at most %d", len(items), maxGood)
		return nil
	}
	for _, item := range items {
		text, at, ok := r.scalar("good", item, want)
		if ok {
			text = asSent(at, text)
		}
		switch {
		case !ok:
		case text != "" && !printable(text, maxGoodText):
			r.problem(at, "good value %s; want at most %d printable characters", quote(text), maxGoodText)
		case slices.Contains(good, text):
			r.problem(at, "good value %s occurs twice", quote(text))
		default:
			good = append(good, text)
		}
	}
	return good
}

// asSent formats a value like a number or a boolean that a device sends.
func asSent(n ast.Node, text string) string {
	switch of := n.(type) {
	case *ast.BoolNode:
		return strconv.FormatBool(of.Value)
	case *ast.IntegerNode:
		return fmt.Sprint(of.Value)
	case *ast.FloatNode:
		return tables.Double(of.Value).String()
	}
	return text
}
