package archive

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// everyType returns a reading with a property of each type, some at its limits.
func everyType() schema.Reading {
	r := schema.Reading{Device: "contoso:d1", Key: schema.RowKey{Ticks: tables.TicksOf(time.Date(2026, 11, 20, 9, 17, 5,
		123456700, time.UTC)), Suffix: "a_b"}}
	for _, p := range []struct {
		name  string
		value tables.Value
	}{
		{"text", tables.String("grüße \"日本\" \\ \u2028 \x00 </b>")}, {"empty", tables.String("")},
		{"yes", tables.Boolean(true)},
		{"small", tables.Int32(math.MinInt32)}, {"large", tables.Int64(math.MaxInt64)}, {"whole", tables.Double(21)},
		{"double", tables.Double(0.1)}, {"tiny", tables.Double(math.SmallestNonzeroFloat64)},
		{"huge", tables.Double(-math.MaxFloat64)},
		{"negative", tables.Double(math.Copysign(0, -1))}, {"nan", tables.Double(math.NaN())},
		{"inf", tables.Double(math.Inf(1))},
		{"minus", tables.Double(math.Inf(-1))}, {"time", tables.DateTime(r.Key.Ticks)},
		{"bytes", tables.Binary([]byte{0, 1, 0xfe, 0xff})},
		{"guid", tables.GUID("c9da6455-213d-42c9-9a79-3e9149a57833")}, {"größe", tables.Int32(1)},
	} {
		r.Properties = append(r.Properties, tables.Property{Name: p.name, Value: p.value})
	}
	return r
}

// wantEveryType is its line, written by hand.
const wantEveryType = `{"device":"contoso:d1","key":"0639307630251234567-a_b","time":"2026-11-20T09:17:05.1234567Z",` +
	`"values":{` +
	`"text":"grüße \"日本\" \\ ` + "\u2028" +
	` \u0000 </b>","empty":"","yes":true,"small":-2147483648,"large":9223372036854775807,"whole":21.0,` +
	`"double":0.1,"tiny":5e-324,"huge":-1.7976931348623157e+308,"negative":-0.0,"nan":"NaN","inf":"Infinity",` +
	`"minus":"-Infinity",` +
	`"time":"2026-11-20T09:17:05.1234567Z","bytes":"AAH+/w==","guid":"c9da6455-213d-42c9-9a79-3e9149a57833","größe":1}}` +
	"\n"

func TestLineKeepsTypesAndDigits(t *testing.T) {
	r := everyType()
	if line, err := appendLine(nil, &r); err != nil || string(line) != wantEveryType {
		t.Errorf("%s%v; want\n%s", line, err, wantEveryType)
	}
}

func TestLineOfNoValues(t *testing.T) {
	r := schema.Reading{Device: "d", Key: schema.RowKey{Ticks: 0}, Properties: []tables.Property{{Name: "none"}}}
	want := `{"device":"d","key":"0000000000000000000","time":"0001-01-01T00:00:00Z","values":{}}` + "\n"
	if line, err := appendLine(nil, &r); err != nil || string(line) != want {
		t.Errorf("%s%v", line, err)
	}
}

// FuzzLine: whatever a device writes is one line, and reads back as it was.
func FuzzLine(f *testing.F) {
	f.Add("temperature", "78.8", 21.5, int64(1)<<60, []byte{1, 2})
	f.Add("a\"b", "line\nbreak", math.Inf(1), int64(-1), []byte{})
	f.Fuzz(func(t *testing.T, name, text string, double float64, integer int64, binary []byte) {
		r := schema.Reading{Device: "d", Properties: []tables.Property{{Name: name, Value: tables.String(text)},
			{Name: name + "1", Value: tables.Double(double)}, {Name: name + "2", Value: tables.Int64(integer)},
			{Name: name + "3", Value: tables.Binary(binary)}}}
		line, err := appendLine(nil, &r)
		if err != nil {
			if strings.ToValidUTF8(name, "") == name && strings.ToValidUTF8(text, "") == text {
				t.Fatal(err)
			}
			return
		}
		if strings.Count(string(line), "\n") != 1 {
			t.Fatalf("%q is not one line", line)
		}
		var got struct{ Values map[string]any }
		d := json.NewDecoder(strings.NewReader(string(line)))
		d.UseNumber()
		must.Succeed(t, d.Decode(&got))
		want := map[string]any{name: text, name + "2": json.Number(fmt.Sprint(integer)), name +
			"3": base64.StdEncoding.EncodeToString(binary)}
		for k, w := range want {
			if got.Values[k] != w {
				t.Errorf("%q is %v; want %v", k, got.Values[k], w)
			}
		}
		if n, is := got.Values[name+"1"].(json.Number); is {
			back, err := n.Float64()
			if err != nil || math.Float64bits(back) != math.Float64bits(double) || !strings.ContainsAny(n.String(), ".e") {
				t.Errorf("%v is written as %s", double, n)
			}
		} else if !math.IsNaN(double) && !math.IsInf(double, 0) {
			t.Errorf("%v is written as %v", double, got.Values[name+"1"])
		}
	})
}
