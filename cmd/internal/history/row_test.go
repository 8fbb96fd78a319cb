package history

import (
	"bytes"
	"testing"

	"furrow/cmd/internal/readings"
	"furrow/tables"
)

// FuzzRow reads rows of the temporary file: what is accepted is written again as it was read.
func FuzzRow(f *testing.F) {
	f.Add(appendRow(nil, row{at: 638712864000000000, line: 2, key: "0638712864000000000-x", values: []readings.Value{
		{Sensor: 0, Value: 1.5}, {Sensor: 1, Value: ""}, {Sensor: 2, Value: int64(-1) << 62}, {Sensor: 3, Value: true}},
		about: []readings.Value{{Sensor: 4, Value: readings.Bytes("/wE=")}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &decoder{b: b}
		first := d.row()
		if d.err != nil {
			return
		}
		written := appendRow(nil, first)
		again := &decoder{b: written}
		if second := again.row(); again.err != nil || len(again.b) > 0 || !bytes.Equal(appendRow(nil, second), written) {
			t.Errorf("%+v becomes %+v, %v", first, second, again.err)
		}
	})
}

// TestLongWholeNumbersAreComparedExactly: as doubles they would be equal, and a conflict would pass for a repetition.
func TestLongWholeNumbersAreComparedExactly(t *testing.T) {
	of := func(v tables.Value) []tables.Property { return []tables.Property{{Name: "n", Value: v}} }
	for _, c := range []struct {
		a, b tables.Value
		same bool
	}{
		{tables.Int64(1 << 53), tables.Int64(1<<53 + 1), false}, {tables.Int64(1 << 53), tables.Int64(1 << 53), true},
		{tables.Int64(21), tables.Double(21), true}, {tables.Boolean(true), tables.Double(1), true},
		{tables.String("21"), tables.Double(21), false}, {tables.String(""), tables.String(""), true},
	} {
		if got := sameValues(of(c.a), of(c.b)); got != c.same {
			t.Errorf("%v and %v: %v", c.a, c.b, got)
		}
	}
}
