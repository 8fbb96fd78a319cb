package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
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

// readingsOf makes the readings of one tick of a device, in the order of their keys, and counts the lines that repeat
// another one. In the long form, lines with different sensors make one reading; a second value of a sensor begins
// another. More values than a row holds make several rows.
func readingsOf(id schema.DeviceID, rows []row, long bool, sensors []string) (all []reading, repeated int) {
	groups, repeated := grouped(rows, long)
	for _, g := range groups {
		var properties []tables.Property
		for _, v := range slices.Concat(g.values, g.about) {
			properties = append(properties, tables.Property{Name: sensors[v.Sensor], Value: property(v.Value)})
		}
		slices.SortFunc(properties, func(a, b tables.Property) int { return strings.Compare(a.Name, b.Name) })
		parts := slices.Collect(slices.Chunk(properties, tables.MaxProperties))
		if len(parts) == 0 {
			parts = append(parts, nil) // a reading of Furrow's that only says that the device lives
		}
		for _, part := range parts {
			key := schema.RowKey{Ticks: g.at, Suffix: hashOf(part)}
			if given, err := schema.ParseRowKey(g.key); err == nil && g.key != "" {
				key = given
			}
			all = append(all, reading{g.line, schema.Reading{Device: id, Key: key, Properties: part}})
		}
	}
	slices.SortStableFunc(all, func(a, b reading) int { return a.Key.Compare(b.Key) })
	lines := len(all)
	all = slices.CompactFunc(all, func(a, b reading) bool {
		return a.Key == b.Key && sameValues(a.Properties, b.Properties)
	})
	return all, repeated + lines - len(all)
}

// grouped joins the lines of the long form that make one reading, in whatever order a file has them, and counts those
// that repeat another one. Lines with a key are Furrow's own: if one of their sensors is doubtful, the reading is.
func grouped(rows []row, long bool) (all []row, repeated int) {
	begun, had := map[string]int{}, map[string]bool{}
	for _, r := range rows {
		if r.values = slices.Clip(r.values); !long {
			all = append(all, r)
			continue
		}
		which := cmp.Or(r.key, string(appendValues(nil, r.about)))
		line := string(appendValues([]byte(which), r.values))
		if r.key == "" && had[line] {
			repeated++
			continue
		}
		had[line] = true
		if i, is := begun[which]; is {
			before := &all[i]
			if r.key != "" && len(before.about) == 0 {
				before.about = r.about
			} else if r.key != "" {
				r.about = before.about
			}
			if (readings.Row{Values: r.values, About: r.about}).Joins(before.values, before.about) {
				before.values = append(before.values, r.values...)
				continue
			}
		}
		begun[which], all = len(all), append(all, r)
	}
	return all, repeated
}

func property(v any) tables.Value {
	switch v := v.(type) {
	case float64:
		return tables.Double(v)
	case bool:
		return tables.Boolean(v)
	case int64:
		return tables.Int64(v)
	case readings.Bytes:
		b, _ := base64.StdEncoding.DecodeString(string(v)) // Furrow wrote it
		return tables.Binary(b)
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
