package fold

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"furrow/jobs/condition"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// read returns the values and refusals of a reading as text.
func read(s Sensors, props ...tables.Property) (values, refused []string) {
	sample, refusals := s.Sample(schema.Reading{Key: schema.RowKey{Ticks: 1}, Properties: props})
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
		{"too great a number, as text", AsSent, tables.String("7894e80000058754"), "s='7894e80000058754'", ""},
		{"the same where a number is meant", Number, tables.String("7894e80000058754"), "", "s: it is not finite"},
		{"a leading zero", AsSent, tables.String("00981150"), "s='00981150'", ""},
		{"a leading zero after a sign", AsSent, tables.String("-07.5"), "s='-07.5'", ""},
		{"a leading zero where a number is meant", Number, tables.String("00981150"), "s=981150", ""},
		{"zero and zero point five", AsSent, tables.String("[0,0.5,-0.5]"), "s_0=0 s_1=0.5 s_2=-0.5", ""},
		{"infinite, as text", AsSent, tables.String("-Infinity"), "", "s: it is not finite"},
		{"half a surrogate pair", AsSent, tables.String(`{"a":"\ud83d!"}`), "s_a='\uFFFD!'", ""},
		{"what is not UTF-8", AsSent, tables.String("a\xffb"), "s='a\uFFFDb'", ""},
		{"a text where a number is meant", Number, tables.String("open"), "", "s: it is no number"},
		{"a number where a state is meant", State, tables.Int32(3), "s='3'", ""},
		{"a truth where a state is meant", State, tables.Boolean(false), "s='false'", ""},
		{"a long text", AsSent, tables.String(strings.Repeat("x", 257)), "", "s: it is a text of more than 256 bytes"},
		{"a long name", AsSent, tables.String(`{"` + strings.Repeat("n", 200) + `":1}`), "", "s_" + strings.Repeat("n", 198) +
			"…: its name has more than 200 bytes"},
		{"ignored", Ignored, tables.Int32(3), "", ""},
		{"a nested object", AsSent, tables.String(`{"a":1,"b c":{"d":[true,"x",null,"2.5"]}}`),
			"s_a=1 s_b_c_d_0=1 s_b_c_d_1='x' s_b_c_d_3=2.5", ""},
		{"an array", AsSent, tables.String(`[1,[2]]`), "s_0=1 s_1_0=2", ""},
		{"half an object", AsSent, tables.String(`{"a":1`), `s='{"a":1'`, ""},
		{"an object and more", AsSent, tables.String(`{}x`), `s='{}x'`, ""},
		{"too deep a nest", AsSent, tables.String(strings.Repeat("[", 100) + strings.Repeat("]", 100)), "",
			"s: it is nested more than 8 deep"},
	} {
		values, refused := read(Sensors{Named: map[string]Meaning{"s": {Is: c.kind}}}, p(c.value))
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

func TestMeaningOfProperties(t *testing.T) {
	oil := must.Have(condition.Parse("action == nil && mass == nil"))(t)
	p := func(name string, v tables.Value) tables.Property { return tables.Property{Name: name, Value: v} }
	number := func(name string, f float64) tables.Property { return p(name, tables.Double(f)) }
	data := Sensors{Named: map[string]Meaning{"data_id": {As: "cycle", Is: State}, "data_f": {As: "c", Scale: .5,
		Offset: -1},
		"data_x": {Scale: 1e300}}, Patterns: []Pattern{{Prefix: "metadata_", Meaning: Meaning{Is: Ignored}},
		{Prefix: "data_", Suffix: "_t", Meaning: Meaning{As: "temp_*_*", Offset: 1}}, {Prefix: "data_",
			Meaning: Meaning{As: "*"}}}}
	long := Sensors{Long: Long{"tag", "value"}, Quality: "ok", Good: []string{"true"},
		Named: map[string]Meaning{"rpm": {Is: Number, Scale: 2}}}
	tag := func(name string, v tables.Value) []tables.Property {
		return []tables.Property{p("value", v), p("tag", tables.String(name)), p("ok", tables.Boolean(name != "bad"))}
	}
	beat := Sensors{Heartbeat: oil}
	for _, c := range []struct {
		name         string
		sensors      Sensors
		properties   []tables.Property
		want, refuse string
	}{
		{"exact before pattern", data, []tables.Property{number("data_id", 7)}, "cycle='7'", ""},
		{"scale before offset", data, []tables.Property{number("data_f", 10)}, "c=4", ""},
		{"numbers as text are scaled", data, []tables.Property{p("data_f", tables.String("10"))}, "c=4", ""},
		{"states are not", data, []tables.Property{p("data_f", tables.String("off"))}, "c='off'", ""},
		{"scaled beyond all numbers", data, []tables.Property{number("data_x", 1e300)}, "", "data_x: it is not finite"},
		{"what the star stands for", data, []tables.Property{number("data_oil_t", 1), number("data_oil", 2),
			number("metadata_oil", 3), number("date", 4)}, "temp_oil_oil=2 oil=2 date=4", ""},
		{"of a nested value", data, []tables.Property{p("data", tables.String(`{"a":{"t":5}}`))}, "temp_a_a=6", ""},
		{"a name without an end", data, []tables.Property{number("data_", 1)}, "data_=1", ""},
		{"long form", long, tag("rpm", tables.Int32(900)), "rpm=1800", ""},
		{"long form with a strange name", long, tag(" Oil/Temp ", tables.String("2.5")), "Oil_Temp=2.5", ""},
		{"long form with a digit first", long, tag("12-PT-101", tables.Int32(3)), "_12_PT_101=3", ""},
		{"long form that is doubtful", long, tag("bad", tables.Int32(1)), "bad=1?", ""},
		{"long form of nested values", long, tag("gps", tables.String(`{"lat":1,"lon":2}`)), "gps_lat=1 gps_lon=2", ""},
		{"long form without a name", long, tag("", tables.Int32(1)), "", "value: its row names no sensor in tag"},
		{"long form without a value", long, tag("rpm", tables.Int32(1))[1:], "", ""},
		{"long form with a name that outputs reserve", long, tag("_fence", tables.Int32(1)), "",
			"_fence: " + reasonReserved},
		{"a heartbeat", beat, []tables.Property{number("battery", 3)}, "", ""},
		{"no heartbeat", beat, []tables.Property{number("battery", 3), number("mass", 4)}, "battery=3 mass=4", ""},
	} {
		values, refused := read(c.sensors, c.properties...)
		if got := strings.Join(values, " "); got != c.want {
			t.Errorf("%s: it is %s, want %s", c.name, got, c.want)
		}
		if got := strings.Join(refused, "; "); got != c.refuse {
			t.Errorf("%s: it is refused as %q, want %q", c.name, got, c.refuse)
		}
	}
}

func TestSamplesRefuseNamesThatOutputsRefuse(t *testing.T) {
	for name, refuse := range map[string]bool{
		"cafe\u0301": false, "a_1": false, "_a": false, "größe": false, "温度": false, "a\u203fb": false,
		"_fence": true, "_parts": true, "_heard": true, "_readings": true,
		"1a": true, "a-b": true, "a b": true, "": true, "a\xff": true, "a\uFFFD": true,
		"PartitionKey": true, "Timestamp": true, "\u0301a": true, "a@b": true, "Ⅷ": true,
	} {
		values, refused := read(Sensors{}, tables.Property{Name: name, Value: tables.Int32(1)})
		if refuse != (len(refused) == 1) || refuse != (len(values) == 0) {
			t.Errorf("%q is read as %v, refused %v", name, values, refused)
		}
		e := tables.Entity{PartitionKey: "p", RowKey: "r",
			Properties: []tables.Property{{Name: name, Value: tables.String("1")}}}
		if err := e.Check(); !refuse && err != nil {
			t.Errorf("%q is sampled, and outputs refuse it: %v", name, err)
		}
	}
}

// nested returns a text of an array with so many leaves, closed or not.
func nested(leaves int, end string) tables.Value {
	return tables.String("[" + strings.TrimSuffix(strings.Repeat("1,", leaves), ",") + end)
}

func TestValuesBeyondTheMostAreRefusedByTheProperty(t *testing.T) {
	p := func(name string, v tables.Value) tables.Property { return tables.Property{Name: name, Value: v} }
	values, refused := read(Sensors{}, p("first", tables.Int32(1)), p("many", nested(MaxSensors, "]")),
		p("last", nested(MaxSensors-1, "]")), p("beyond", tables.Int32(1)))
	if len(values) != MaxSensors || len(refused) != 2 || !strings.HasPrefix(refused[0], "many: ") ||
		!strings.HasPrefix(refused[1], "beyond: ") {
		t.Errorf("%d values, refused %v", len(values), refused)
	}
	var props []tables.Property
	for i := range 20 {
		props = append(props, p(fmt.Sprint("s", i), tables.Double(math.NaN())))
	}
	if _, refused = read(Sensors{}, props...); len(refused) != maxRefusals+1 ||
		refused[maxRefusals] != ": and 10 more of its values" {
		t.Errorf("refused %v", refused)
	}
}

func TestTextsOfARowAreBounded(t *testing.T) {
	var all []string
	for i := range 900 {
		all = append(all, fmt.Sprintf(`"%d":%q`, i, strings.Repeat("t", maxState)))
	}
	var props []tables.Property
	for i := range 9 {
		props = append(props, tables.Property{Name: fmt.Sprint("p", i),
			Value: tables.String("{" + strings.Join(all[100*i:][:100], ",") + "}")})
	}
	values, refused := read(Sensors{}, append(props, tables.Property{Name: "n", Value: tables.Int32(1)})...)
	if len(values) < 300 || len(values) > 900 || len(refused) != maxRefusals+1 ||
		!strings.HasSuffix(refused[0], reasonNoRoom) {
		t.Errorf("%d values, refused %.300v", len(values), refused)
	}
}

// poison returns rows that once stopped a worker: the first by the time it took, the second by its memory.
func poison() map[string]schema.Reading {
	var leaves, names schema.Reading
	for i := range 15 {
		leaves.Properties = append(leaves.Properties, tables.Property{Name: fmt.Sprint("p", i), Value: nested(16_300, "]")})
	}
	for i := range 10 {
		text := `{"` + strings.Repeat("n", 16_000) + `":` + nested(8_000, "]").Text() + "}"
		names.Properties = append(names.Properties, tables.Property{Name: fmt.Sprint("p", i), Value: tables.String(text)})
	}
	return map[string]schema.Reading{"leaves": leaves, "names": names}
}

func TestPoisonRowsAreRefusedWithinTheirSize(t *testing.T) {
	for name, row := range poison() {
		e := row.Entity()
		e.PartitionKey, e.RowKey = "device", "1"
		must.Succeed(t, e.Check())
		row.Properties = append(row.Properties, tables.Property{Name: "temperature", Value: tables.Double(21)})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sample, refused := new(Sensors).Sample(row)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 4*uint64(e.Size()) {
			t.Errorf("%s: %d bytes are allocated for a row of %d", name, n, e.Size())
		}
		if len(sample.Values) != 1 || len(refused) < 10 {
			t.Errorf("%s: %d values, %d refusals", name, len(sample.Values), len(refused))
		}
	}
}

// FuzzSample: no text crashes the reader. Every sensor occurs once, and is finite.
func FuzzSample(f *testing.F) {
	f.Add("a", `{"b":[1,{"c":"2"}],"b_0":3}`)
	f.Add("a", "1e308")
	f.Add("", "[")
	f.Fuzz(func(t *testing.T, name, text string) {
		var s Sensors
		sample, refused := s.Sample(schema.Reading{Properties: []tables.Property{{Name: name, Value: tables.String(text)}}})
		seen := map[string]bool{}
		for _, m := range sample.Values {
			if seen[m.Sensor] || math.IsNaN(m.Number) || math.IsInf(m.Number, 0) || len(m.State) > maxState ||
				checkName(m.Sensor) != "" || !utf8.ValidString(m.State) {
				t.Fatalf("%q=%q is read as %+v", name, text, sample.Values)
			}
			seen[m.Sensor] = true
		}
		if len(sample.Values) > MaxSensors {
			t.Fatalf("%d sensors, %v", len(sample.Values), refused)
		}
	})
}

// BenchmarkSample reads a row of six sensors, and one of 1,000.
func BenchmarkSample(b *testing.B) {
	text := "["
	for i := range 999 {
		text += fmt.Sprint(i, ",")
	}
	six := []tables.Property{{Name: "temperature", Value: tables.Double(21.5)},
		{Name: "humidity", Value: tables.String("40.5")}, {Name: "pressure", Value: tables.Double(101325)},
		{Name: "battery", Value: tables.Int32(3)}, {Name: "door", Value: tables.String("open")},
		{Name: "alarm", Value: tables.Boolean(true)}}
	for name, properties := range map[string][]tables.Property{"6": six,
		"1000": {{Name: "v", Value: tables.String(text + "1]")}}} {
		r := schema.Reading{Key: schema.RowKey{Ticks: 1}, Properties: properties}
		b.Run(name, func(b *testing.B) {
			var s Sensors
			b.ReportAllocs()
			for b.Loop() {
				if sample, refused := s.Sample(r); len(sample.Values) < 6 || refused != nil {
					b.Fatal(refused)
				}
			}
		})
	}
}
