package fold

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"furrow/jobs/condition"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestExactValuesAreWhatNoDoubleEquals: integers beyond 2^53, and bytes; not where a model has a number made of them.
func TestExactValuesAreWhatNoDoubleEquals(t *testing.T) {
	for _, c := range []struct {
		value tables.Value
		means Meaning
		exact bool
	}{
		{tables.Int64(1 << 53), Meaning{}, false},
		{tables.Int64(1<<53 + 1), Meaning{}, true},
		{tables.Int64(1 << 60), Meaning{}, false},
		{tables.Int64(math.MaxInt64), Meaning{}, true},
		{tables.Int64(math.MinInt64), Meaning{}, false},
		{tables.Int64(math.MinInt64 + 1), Meaning{}, true},
		{tables.Int64(1<<53 + 1), Meaning{Scale: 0.1}, false},
		{tables.Int64(1<<53 + 1), Meaning{Is: State}, false},
		{tables.Int64(1<<53 + 1), Meaning{Is: Ignored}, false},
		{tables.Binary([]byte{1}), Meaning{}, true},
		{tables.Binary([]byte{1}), Meaning{Is: Number}, false},
		{tables.Binary([]byte{1}), Meaning{Is: Ignored}, false},
		{tables.Double(1e300), Meaning{}, false},
	} {
		c.means.As = "x"
		r := schema.Reading{Properties: []tables.Property{{Name: "x", Value: c.value}}}
		s := Sensors{Named: map[string]Meaning{"x": c.means}}
		sample, _ := s.Sample(r)
		want := "[]"
		if c.exact {
			want = fmt.Sprint([]ExactValue{{"x", c.value}})
		}
		if got := fmt.Sprint(sample.Exact); got != want {
			t.Errorf("%v of %+v has the exact values %s, want %s", c.value, c.means, got, want)
		}
	}
}

// TestNoIntegerIsExactWhoseNumberDoesNotCount: in a heartbeat, and where its row has no room. A heartbeat keeps bytes,
// which are no value.
func TestNoIntegerIsExactWhoseNumberDoesNotCount(t *testing.T) {
	total := tables.Property{Name: "total", Value: tables.Int64(1<<53 + 1)}
	blob := tables.Property{Name: "blob", Value: tables.Binary([]byte{1})}
	full := []tables.Property{}
	for n := range MaxRoom/maxSensorName + 1 {
		name := fmt.Sprintf("%0*d", maxSensorName-1, n)
		full = append(full, tables.Property{Name: "a" + name, Value: tables.Int32(1)})
	}
	for _, c := range []struct {
		what       string
		sensors    Sensors
		properties []tables.Property
		want       string
	}{
		{"heartbeat", Sensors{Heartbeat: must.Have(condition.Parse("mass == nil"))(t)}, []tables.Property{total, blob},
			"blob"},
		{"full row", Sensors{}, append(full, total, blob), "blob"},
		{"reading", Sensors{}, []tables.Property{total, blob}, "total blob"},
	} {
		sample, _ := c.sensors.Sample(schema.Reading{Properties: c.properties})
		var got []string
		for _, x := range sample.Exact {
			got = append(got, x.Sensor)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: exact are %v, want %s", c.what, got, c.want)
		}
	}
}
