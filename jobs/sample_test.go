package jobs

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"furrow/tables"
)

// read gives the samples of a reading with one property, as text.
func read(s Sensors, props ...tables.Property) (values, refused []string) {
	sample, refusals := s.Sample(tables.Reading{Key: tables.RowKey{Ticks: 1}, Properties: props})
	for _, m := range sample.Values {
		text := fmt.Sprint(m.Number)
		if m.Is == State {
			text = "'" + m.State + "'"
		}
		if m.Doubtful {
			text += "?"
		}
		values = append(values, m.Sensor+"="+text)
	}
	for _, r := range refusals {
		refused = append(refused, r.Sensor+": "+r.Reason)
	}
	return values, refused
}

func TestValuesAreUnderstoodAsDevicesSendThem(t *testing.T) {
	p := func(v tables.Value) tables.Property { return tables.Property{Name: "s", Value: v} }
	for _, c := range []struct {
		name   string
		kind   SensorKind
		value  tables.Value
		want   string // values, separated by blanks
		refuse string
	}{
		{"a double", AsSent, tables.Double(21.5), "s=21.5", ""},
		{"an integer", AsSent, tables.Int32(-3), "s=-3", ""},
		{"a long integer", AsSent, tables.Int64(1 << 40), "s=1.099511627776e+12", ""},
		{"a number as text", AsSent, tables.String("78.8"), "s=78.8", ""},
		{"one with blanks", AsSent, tables.String(" 1e3 "), "s=1000", ""},
		{"true", AsSent, tables.Boolean(true), "s=1", ""},
		{"a text", AsSent, tables.String("open"), "s='open'", ""},
		{"an empty text", AsSent, tables.String(""), "s=''", ""},
		{"a hexadecimal text", AsSent, tables.String("0x1p4"), "s='0x1p4'", ""},
		{"a time", AsSent, tables.DateTime(621355968000000000), "s='1970-01-01T00:00:00.0000000Z'", ""},
		{"bytes", AsSent, tables.Binary([]byte{1}), "", ""},
		{"not a number", AsSent, tables.Double(math.NaN()), "", "s: it is not finite"},
		{"not a number, as text", AsSent, tables.String("nan"), "", "s: it is not finite"},
		{"too great a number", AsSent, tables.String("1e999"), "", "s: it is not finite"},
		{"a text where a number is meant", Number, tables.String("open"), "", "s: it is no number"},
		{"a number where a state is meant", State, tables.Int32(3), "s='3'", ""},
		{"a truth where a state is meant", State, tables.Boolean(false), "s='false'", ""},
		{"a long text", AsSent, tables.String(strings.Repeat("x", 257)), "", "s: it is a text of more than 256 bytes"},
		{"a long name", AsSent, tables.String(`{"` + strings.Repeat("n", 200) + `":1}`), "", "s_" + strings.Repeat("n", 198) + "…: its name has more than 200 bytes"},
		{"ignored", Ignored, tables.Int32(3), "", ""},
		{"a nested object", AsSent, tables.String(`{"a":1,"b c":{"d":[true,"x",null,"2.5"]}}`), "s_a=1 s_b_c_d_0=1 s_b_c_d_1='x' s_b_c_d_3=2.5", ""},
		{"an array", AsSent, tables.String(`[1,[2]]`), "s_0=1 s_1_0=2", ""},
		{"half an object", AsSent, tables.String(`{"a":1`), `s='{"a":1'`, ""},
		{"an object and more", AsSent, tables.String(`{}x`), `s='{}x'`, ""},
		{"too deep a nest", AsSent, tables.String(strings.Repeat("[", 100) + strings.Repeat("]", 100)), "", "s: it is nested more than 8 deep"},
	} {
		values, refused := read(Sensors{Kinds: map[string]SensorKind{"s": c.kind}}, p(c.value))
		if got := strings.Join(values, " "); got != c.want {
			t.Errorf("%s is read as %s, want %s", c.name, got, c.want)
		}
		if got := strings.Join(refused, "; "); got != c.refuse {
			t.Errorf("%s is refused as %q, want %q", c.name, got, c.refuse)
		}
	}
}

func TestQualityMarksTheWholeReading(t *testing.T) {
	s := Sensors{Quality: "q", Good: []string{"192", "good"}}
	v := tables.Property{Name: "v", Value: tables.Int32(1)}
	for text, want := range map[string]string{"192": "v=1", "good": "v=1", "0": "v=1?", "": "v=1?"} {
		q := tables.Property{Name: "q", Value: tables.String(text)}
		for _, props := range [][]tables.Property{{q, v}, {v, q}} {
			if got, _ := read(s, props...); strings.Join(got, " ") != want {
				t.Errorf("quality %q: %v, want %s", text, got, want)
			}
		}
	}
	if got, _ := read(s, v); strings.Join(got, " ") != "v=1" {
		t.Errorf("no quality: %v, want v=1", got)
	}
}

func TestReadingOfTooManySensorsIsRefusedAsAWhole(t *testing.T) {
	var props []tables.Property
	for i := range MaxSensors + 1 {
		props = append(props, tables.Property{Name: fmt.Sprint("s", i), Value: tables.Int32(1)})
	}
	if values, refused := read(Sensors{}, props[:MaxSensors]...); len(values) != MaxSensors || refused != nil {
		t.Errorf("of %d sensors %d are kept, %v", MaxSensors, len(values), refused)
	}
	if values, refused := read(Sensors{}, props...); values != nil || len(refused) != 1 || !strings.Contains(refused[0], "at most 240") {
		t.Errorf("of one sensor more %d are kept, %v", len(values), refused)
	}
}

// FuzzSample: no text crashes the reader; every sensor is there once, and finite.
func FuzzSample(f *testing.F) {
	f.Add("a", `{"b":[1,{"c":"2"}],"b_0":3}`)
	f.Add("a", "1e308")
	f.Add("", "[")
	f.Fuzz(func(t *testing.T, name, text string) {
		var s Sensors
		sample, refused := s.Sample(tables.Reading{Properties: []tables.Property{{Name: name, Value: tables.String(text)}}})
		seen := map[string]bool{}
		for _, m := range sample.Values {
			if seen[m.Sensor] || math.IsNaN(m.Number) || math.IsInf(m.Number, 0) || len(m.State) > maxState {
				t.Fatalf("%q=%q is read as %+v", name, text, sample.Values)
			}
			seen[m.Sensor] = true
		}
		if len(sample.Values) > MaxSensors {
			t.Fatalf("%d sensors, %v", len(sample.Values), refused)
		}
	})
}
