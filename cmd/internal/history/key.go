package history

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"furrow/cmd/internal/readings"
	"furrow/tables"
	"furrow/tables/schema"
)

// mostOfATick bounds the readings of a device at one tick, which are keyed together.
const mostOfATick = 10_000

// A reading is a row of the table, and the first line that it comes from.
type reading struct {
	line int
	schema.Reading
}

// readingsOf makes the readings of one tick of a device, in the order of their keys. In the long form, lines with
// different sensors make one reading; a second value of a sensor begins another.
func readingsOf(id schema.DeviceID, rows []row, long bool, sensors []string) []reading {
	var all []reading
	var last []readings.Value
	add := func(r row) {
		all = append(all, reading{r.line, schema.Reading{Device: id, Key: schema.RowKey{Ticks: r.at}}})
	}
	set := func(values []readings.Value) {
		own := &all[len(all)-1]
		for _, v := range values {
			own.Properties = append(own.Properties, tables.Property{Name: sensors[v.Sensor], Value: property(v.Value)})
		}
	}
	for _, r := range rows {
		joins := long && len(last) > 0 && !slices.ContainsFunc(last, func(v readings.Value) bool {
			return v.Sensor == r.values[0].Sensor
		})
		if !joins {
			last = nil
			add(r)
		}
		set(r.values)
		last = append(last, r.values...)
	}
	seen := make(map[string]int, len(all))
	for i := range all {
		r := &all[i]
		slices.SortFunc(r.Properties, func(a, b tables.Property) int { return strings.Compare(a.Name, b.Name) })
		hash := hashOf(r.Properties)
		seen[hash]++
		if r.Key.Suffix = hash; seen[hash] > 1 {
			r.Key.Suffix += "." + strconv.Itoa(seen[hash])
		}
	}
	slices.SortFunc(all, func(a, b reading) int { return a.Key.Compare(b.Key) })
	return all
}

func property(v any) tables.Value {
	switch v := v.(type) {
	case float64:
		return tables.Double(v)
	case bool:
		return tables.Boolean(v)
	}
	return tables.String(v.(string))
}

// hashOf returns a short hash of values, which must be sorted by name. It is the same whatever format they come from,
// and must stay so: a repeated import finds its rows by it.
func hashOf(values []tables.Property) string {
	h := sha256.New()
	for _, p := range values {
		kind, text := "text", p.Value.Text()
		switch p.Value.Type() {
		case tables.TypeDouble:
			kind, text = "number", strconv.FormatFloat(p.Value.Float(), 'g', -1, 64)
		case tables.TypeBoolean:
			kind, text = "boolean", strconv.FormatBool(p.Value.Boolean())
		}
		fmt.Fprintf(h, "%s %s %d %s ", p.Name, kind, len(text), text)
	}
	const bytes = 10
	return strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil)[:bytes]))
}
