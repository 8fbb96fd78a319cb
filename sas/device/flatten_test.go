package device

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
)

// properties formats what a document becomes, or why it is refused.
func properties(values map[string]any) string {
	row, err := Reading{Values: values}.row("pump-7")
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, p := range row.Properties {
		all = append(all, p.Name+"="+p.Value.String())
	}
	return strings.Join(all, " ")
}

func TestNestedDocumentIsFlattened(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 9) + "1" + strings.Repeat("}", 9)
	for text, want := range map[string]string{
		`{"b": 2, "a": 1}`: "a=1 b=2",
		`{"data": {"oil-temp": "118.9", "lids": [0, true, null, {"x": []}], "°C": 1}}`: "data_lids_0=0 data_lids_1=true " +
			"data_oil_temp=118.9 data__C=1",
		`{"tenant-id": "t", "7th": 7, "a:b": 1, "é": 2, "": 3, "Timestamp": 4, "RowKey": {"a": 5}}`: "_=3 _7th=7 " +
			"RowKey__a=5 Timestamp_=4 a_b=1 tenant_id=t é=2",
		`{"a": null, "b": {}, "c": [[]]}`:           "it has no values",
		`{"a_b": 1, "a": {"b": 2}}`:                 "values a.b and a_b would both be stored as a_b: rename one of them",
		`{"a.b": 1, "a": {"b": 2}}`:                 `values a.b and ["a.b"] would both be stored as a_b: rename one of them`,
		`{"a": [{"b:c": 1, "b-c": 2}]}`:             `values a[0]["b-c"] and a[0]["b:c"] would both be stored as a_0_b_c: rename one of them`,
		`{"a": {"b": null}, "a_b": 1}`:              "a_b=1",
		`{"a": [[[[[[[[1]]]]]]]]}`:                  "a_0_0_0_0_0_0_0_0=1",
		`{"a": [[[[[[[[[1]]]]]]]]]}`:                "value a[0][0][0][0][0][0][0][0] is nested more than 8 deep",
		`{"data": ` + deep + `}`:                    "value data.a.a.a.a.a.a.a.a is nested more than 8 deep",
		`{"a": {"b": "` + "\xff" + `"}}`:            "a_b=\ufffd",
		`{"a": ["` + strings.Repeat("x", 9) + `"]}`: "a_0=xxxxxxxxx",
	} {
		var values map[string]any
		must.Succeed(t, json.Unmarshal([]byte(text), &values))
		if got := properties(values); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
		}
	}
	type mode string
	round := map[string]any{}
	round["a"] = round
	for want, values := range map[string]map[string]any{
		"a_0=1 a_1=2 b_x=0.5": {"a": []int{1, 2}, "b": map[mode]float64{"x": 0.5}},
		"a=2 bytes":           {"a": []byte{1, 2}},
		"value a.b: a device.mode cannot be stored; use a string, a boolean, a number, a time.Time, bytes, or a map or " +
			"slice of them": {"a": map[string]any{"b": mode("x")}},
		"value a: a json.RawMessage cannot": {"a": json.RawMessage("1")},
		"value a: a map[int]string cannot":  {"a": map[int]string{1: "x"}},
		"value a.a.a.a.a.a.a.a.a is nested": round,
	} {
		if got := properties(values); !strings.HasPrefix(got, want) {
			t.Errorf("%#v: %s; want %s", values["a"], got, want)
		}
	}
}

// FuzzDocument checks that a document of JSON is refused, or becomes a row that storage accepts. Workers see the same
// values in it as in one whose nested values are sent as texts of JSON.
func FuzzDocument(f *testing.F) {
	for _, text := range []string{`{"a": {"b": [1, {"c": "x"}, null]}, "a_b": true}`, `{"a":{"b":1},"a.b":2}`,
		`{"7": {"": {"-": [[]]}}, "Timestamp": {"x": 1e400}}`, `{"a":[[[[[[[[[1]]]]]]]]]}`,
		`{"é": {"\ud800": "\u0000"}, "e\u0301": {"e\u0301": 1}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var values map[string]any
		if json.Unmarshal([]byte(text), &values) != nil {
			return
		}
		row, err := Reading{Values: values}.row("pump-7")
		if err != nil {
			return
		}
		row.RowKey = longestKey
		must.Succeed(t, row.Check())
		var got, want []string
		for _, p := range row.Properties {
			got = append(got, seen(p))
		}
		for name, v := range values {
			want = append(want, asText(t, name, v)...)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s is stored as\n%q\nand workers see\n%q", text, got, want)
		}
	})
}

// asText returns what workers see in a property whose nested value was sent as text.
func asText(t *testing.T, name string, v any) (all []string) {
	t.Helper()
	sent := must.Have(flatten(map[string]any{name: 0}))(t)[0]
	switch v.(type) {
	case nil:
		return nil
	case map[string]any, []any:
		sent.Value = tables.String(string(must.Have(json.Marshal(v))(t)))
	default:
		sent.Value = must.Have(valueOf(v))(t)
		return []string{seen(sent)}
	}
	for _, p := range fold.Flatten(sent) {
		all = append(all, seen(p))
	}
	return all
}

// seen formats a value, a number of a text like one of storage.
func seen(p tables.Property) string {
	text := p.Value.String()
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		text = fmt.Sprint(f)
	}
	return p.Name + "=" + text
}
