package history

import (
	"fmt"
	"maps"
	"math"
	"strconv"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
)

// sameValues reports whether rows have equal properties, in any order.
func sameValues(a, b []tables.Property) bool {
	return maps.EqualFunc(valuesOf(a), valuesOf(b), func(a, b tables.Value) bool {
		if a.Type() == tables.TypeInt64 && b.Type() == tables.TypeInt64 {
			return a == b // as doubles, long ones are equal that are not
		}
		return a == b || numberOf(a) == numberOf(b) || a.Text() != "" && a.Text() == b.Text()
	})
}

// numberOf returns a value as a file may have it: a whole number, or a boolean as 0 and 1. It is NaN for others.
func numberOf(v tables.Value) float64 {
	switch v.Type() {
	case tables.TypeDouble:
		return v.Float()
	case tables.TypeBoolean:
		if v.Boolean() {
			return 1
		}
		return 0
	case tables.TypeInt32, tables.TypeInt64:
		return float64(v.Int())
	}
	return math.NaN()
}

func valuesOf(all []tables.Property) map[string]tables.Value {
	values := map[string]tables.Value{}
	for _, p := range all {
		values[p.Name] = p.Value
	}
	return values
}

// tells reports whether an output of Furrow tells what is stored of a row: some of its values as its device sent them,
// or as its model means them.
func tells(file, stored tables.Entity, model *fold.Sensors) bool {
	sent := map[string][]string{}
	for _, p := range stored.Properties {
		sent[p.Name] = append(sent[p.Name], printed(p.Value))
	}
	return within(file, sent) || model != nil && within(file, meant(stored, model))
}

// meant returns the values of a row as its model means them.
func meant(stored tables.Entity, model *fold.Sensors) map[string][]string {
	all := map[string][]string{}
	r, err := schema.ReadingOf(stored)
	if err != nil {
		return all
	}
	s, _ := model.Sample(r)
	for _, v := range s.Values {
		if v.Doubtful {
			all[schema.DoubtfulProperty] = []string{"true"}
		}
		if v.Is == fold.State {
			all[v.Sensor] = append(all[v.Sensor], answers.Printable(v.State))
		} else {
			all[v.Sensor] = append(all[v.Sensor], answers.Number(v.Number))
		}
	}
	for _, x := range s.Exact {
		all[x.Sensor] = append(all[x.Sensor], printed(x.Value))
	}
	return all
}

// within reports whether each value of a row is among those of its sensor.
func within(file tables.Entity, values map[string][]string) bool {
	for _, p := range file.Properties {
		found := false
		for _, text := range values[p.Name] {
			found = found || text == printed(p.Value)
		}
		if !found {
			return false
		}
	}
	return true
}

// printed returns a value as outputs have it.
func printed(v tables.Value) string {
	switch v.Type() {
	case tables.TypeDouble:
		return answers.Number(v.Float())
	case tables.TypeInt32, tables.TypeInt64:
		return strconv.FormatInt(v.Int(), 10)
	}
	return answers.Printable(fmt.Sprint(answers.ValueOf(v)))
}
