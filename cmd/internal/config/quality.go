package config

import (
	"fmt"
	"slices"
	"strconv"

	"furrow/jobs"
	"furrow/tables"

	"github.com/goccy/go-yaml/ast"
)

// Bounds of the values that are good.
const (
	maxGood     = 100
	maxGoodText = 256 // characters
)

// quality reads what tells how good a reading is, after the sensors.
func (r *reader) quality(p *Pipeline) key {
	return key{name: "quality", read: func(n ast.Node) {
		r.within("quality", func() {
			r.object(n, "a map like {sensor: quality, good: [good]}",
				key{name: "sensor", must: true, read: func(n ast.Node) { p.Quality.Sensor = r.qualitySensor(n, p.Sensors) }},
				key{name: "good", must: true, read: func(n ast.Node) { p.Quality.Good = r.good(n) }})
		})
	}}
}

// position reads which sensors tell where a device is.
func (r *reader) position(to *jobs.Position) key {
	sensor := func(name string, to *string) key {
		return key{name: name, must: true, read: func(n ast.Node) {
			text, at, ok := r.scalar(name, n, "the name of a sensor, in degrees")
			if wrong := checkSensor(text); ok && wrong != "" {
				r.problem(at, "sensor %s %s", quote(text), wrong)
			}
			*to = text
		}}
	}
	return key{name: "position", read: func(n ast.Node) {
		r.within("position", func() {
			r.object(n, "a map like {lat: latitude, lon: longitude}", sensor("lat", &to.Lat), sensor("lon", &to.Lon))
		})
	}}
}

func (r *reader) qualitySensor(n ast.Node, sensors map[string]Sensor) string {
	name, at, ok := r.scalar("sensor", n, "the name of the sensor that tells the quality")
	if !ok {
		return ""
	}
	if wrong := checkSensor(name); wrong != "" {
		r.problem(at, "sensor %s %s", quote(name), wrong)
	}
	if _, both := sensors[name]; both {
		r.problem(at, "sensor %s is among the sensors, too; leave it out there, as processors do not see it", quote(name))
	}
	return name
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
			r.problem(at, "good value %s; want at most %d characters that can be printed", quote(text), maxGoodText)
		case slices.Contains(good, text):
			r.problem(at, "good value %s is there twice", quote(text))
		default:
			good = append(good, text)
		}
	}
	return good
}

// asSent is how a value is compared that a device sends as a number or a boolean.
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
