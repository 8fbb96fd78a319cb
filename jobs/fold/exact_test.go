package fold

import (
	"fmt"
	"math"
	"testing"

	"furrow/tables"
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
