package query

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Question says what to read about the devices of a scope.
type Question struct {
	Scope   Scope
	Filter  Filter
	Models  *Models // nil: nothing is known about them
	Span    Span
	After   string        // a row key: only readings after it
	Window  schema.Window // of rollups
	Sensors []string      // none: all
	Limit   int           // of records; 0: all
	Pages   int           // of each range; where there are more, ErrMore follows; 0: all
	Rows    *atomic.Int64 // counts the rows that were read, those left out included; may be nil
}

// CheckSensors returns an error if no reading can have sensors of these names.
func CheckSensors(names []string) error {
	e := tables.Entity{PartitionKey: "device", RowKey: "row"}
	for _, name := range names {
		e.Properties = append(e.Properties, tables.Property{Name: name, Value: tables.Int32(0)})
	}
	if err := e.Check(); err != nil {
		return fmt.Errorf("not the name of a sensor: %w", err)
	}
	return nil
}

// ErrMore means that a range has more pages than the question asked for. The read continues
// with the next range.
var ErrMore = errors.New("there are more rows")

// read reads a range of a table, and no more of its rows than the question needs.
func (q Question) read(t *tables.Table, r tables.Range) read {
	query := tables.Query{Range: r}
	if !q.searching() {
		query.Size = min(q.Limit, 1000)
	}
	if len(q.Sensors) > 0 {
		query.Select = append([]string{schema.FormatProperty}, q.Sensors...)
	}
	return read{table: t, query: query, pages: q.Pages, rows: q.Rows}
}

// output reads a range of outputs. Rows without any of the sensors that the question needs stay in storage.
func (q Question) output(t *tables.Table, in tables.Range, home schema.LatestPartition) read {
	q = q.decoding()
	filter := havingAny(q.Sensors)
	if filter == "" && len(q.Sensors) > 0 {
		q.Limit = 0 // those come, too
	}
	r := q.read(t, in)
	r.query.Filter = filter
	r.home = home
	return r
}

// mostNamedInFilter keeps a filter within the 15 comparisons that storage takes, besides those of the keys.
const mostNamedInFilter = 8

// havingAny returns a filter for outputs that have a value of any of these sensors; empty where there are too many for
// one, or a name that the language of filters might not take. Values of outputs are JSON arrays, and storage takes a
// property that a row does not have to satisfy no comparison.
func havingAny(sensors []string) string {
	odd := func(s string) bool { return !plainName(s) }
	if len(sensors) == 0 || len(sensors) > mostNamedInFilter || slices.ContainsFunc(sensors, odd) {
		return ""
	}
	terms := []string{fmt.Sprintf("%s gt %dL", schema.FormatProperty, schema.Format)} // those are reported as unreadable
	for _, s := range sensors {
		terms = append(terms, s+" ge '['")
	}
	return strings.Join(terms, " or ")
}

// plainName reports whether a name is an ASCII identifier and no word of the language of filters.
func plainName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	words := []string{"and", "or", "not", "eq", "ne", "gt", "ge", "lt", "le", "true", "false", "null", "datetime", "guid",
		"binary", "x"}
	return strings.Trim(name, letters+"0123456789_") == "" && strings.Contains(letters, name[:1]) &&
		!slices.Contains(words, strings.ToLower(name))
}

// sensorsOfReading returns the properties that the question asks for, by name. It also finds a sensor by the name that
// outputs have for it, which a device sent as a part of an object: weather_air_temp in weather.
func (q Question) sensorsOfReading(e tables.Entity) []tables.Property {
	wanted := q.sensors(e)
	if len(q.Sensors) == 0 {
		return wanted
	}
	for _, p := range e.Properties {
		if fold.IsReserved(p.Name) {
			continue
		}
		for _, sensor := range fold.Flatten(p) {
			if sensor.Name != p.Name && slices.Contains(q.Sensors, sensor.Name) {
				wanted = append(wanted, sensor)
			}
		}
	}
	slices.SortStableFunc(wanted, func(a, b tables.Property) int { return cmp.Compare(a.Name, b.Name) })
	return wanted
}

// valuesAsSent returns the properties of a reading that the question asks for, by name: those with the name of a
// sensor, and those that the model makes that sensor of. The value of a row in long form has the name that its row
// says.
func (q Question) valuesAsSent(model *Model, e tables.Entity) []tables.Property {
	wanted := q.sensorsOfReading(e)
	if len(q.Sensors) == 0 || !model.renames() {
		return wanted
	}
	r, err := schema.ReadingOf(e)
	if err != nil {
		return wanted
	}
	explained, _, _ := model.Sensors.Explain(r)
	for _, x := range explained {
		has := func(p tables.Property) bool { return p.Name == x.Property }
		if x.Became != nil && slices.Contains(q.Sensors, x.Became.Sensor) && !slices.ContainsFunc(wanted, has) {
			wanted = append(wanted, tables.Property{Name: x.Property, Value: x.Value})
			for _, p := range e.Properties { // a nested number is no text
				for _, nested := range fold.Flatten(p) {
					if nested.Name == x.Property {
						wanted[len(wanted)-1] = nested
					}
				}
			}
		}
	}
	slices.SortStableFunc(wanted, func(a, b tables.Property) int { return cmp.Compare(a.Name, b.Name) })
	return wanted
}

// withObjects adds the names of the properties that an object with a sensor in it can have.
func withObjects(sensors []string) (all []string) {
	for _, name := range sensors {
		for i, r := range name {
			if r == '_' && i > 0 {
				all = append(all, name[:i])
			}
		}
		all = append(all, name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// parsedSensors returns what parse makes of the properties of an output that the question asks for, by name. It reports
// those that cannot be parsed.
func parsedSensors[R any](
	q Question, e tables.Entity, tell report, parse func(sensor, text string) (R, error),
) (all []R) {
	for _, p := range q.sensors(e) {
		r, err := parse(p.Name, p.Value.Text())
		if err != nil {
			tell(p.Name, err)
			continue
		}
		all = append(all, r)
	}
	return all
}

// sensors returns the properties of a row that the question asks for, by name.
func (q Question) sensors(e tables.Entity) []tables.Property {
	wanted := make([]tables.Property, 0, len(e.Properties))
	for _, p := range e.Properties {
		if !fold.IsReserved(p.Name) && (len(q.Sensors) == 0 || slices.Contains(q.Sensors, p.Name)) {
			wanted = append(wanted, p)
		}
	}
	slices.SortFunc(wanted, func(a, b tables.Property) int { return cmp.Compare(a.Name, b.Name) })
	return wanted
}
