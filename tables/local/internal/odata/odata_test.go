package odata

import (
	"errors"
	"math"
	"strings"
	"testing"

	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/wire"
)

func text(s string) entity.Value { return entity.Value{Type: entity.String, Raw: []byte(s)} }

// sample has a property of each type.
func sample() *Row {
	when, _ := entity.ParseDateTime("2026-11-20T10:00:00Z")
	id, _ := entity.ParseGUID("c9da6455-213d-42c9-9a79-3e9149a57833")
	half, _ := entity.ParseDouble("0.5")
	nan := entity.Value{Type: entity.Double, Num: int64(math.Float64bits(math.NaN()))}
	e := entity.Entity{Timestamp: when.Num, Properties: []entity.Property{
		{Name: "s", Value: text("it's")}, {Name: "i", Value: entity.Value{Type: entity.Int32, Num: 7}},
		{Name: "l", Value: entity.Value{Type: entity.Int64, Num: 1 << 40}}, {Name: "d", Value: half},
		{Name: "nan", Value: nan}, {Name: "b", Value: entity.Value{Type: entity.Boolean, Num: 1}},
		{Name: "t", Value: when}, {Name: "g", Value: id},
		{Name: "x", Value: entity.Value{Type: entity.Binary, Raw: []byte{1, 2, 255}}},
		{Name: "_ü‿2", Value: text("odd")}}}
	return &Row{Partition: "p", Row: "r5", Entity: e.Append(nil)}
}

func TestFilterMatches(t *testing.T) {
	for filter, want := range map[string]bool{
		"":                    true,
		"PartitionKey eq 'p'": true, "PartitionKey ne 'p'": false, "RowKey ge 'r5'": true, "RowKey gt 'r5'": false,
		"'r6' gt RowKey": true,
		"s eq 'it''s'":   true, "s eq 'it'": false, "s lt 'j'": true, "s eq 7": false, "s ne 7": false,
		"i eq 7": true, "i eq 7L": true, "i lt 7.5": true, "i eq '7'": false, "i ge -3": true,
		"l eq 1099511627776L": true, "l eq 1099511627776": true, "l gt 1e3": true,
		"d eq 0.5": true, "d gt 0": true, "d le 5e-1": true, "nan ne 1.0": false,
		"b": true, "not b": false, "b eq true": true, "b eq false": false, "true": true, "false or b": true,
		"b eq True": true, "b eq FALSE": false,
		"t eq datetime'2026-11-20T10:00:00Z'": true, "t gt datetime'2026-11-20T10:00:00.0000001Z'": false,
		"Timestamp ge datetime'2026-11-20T10:00:00Z'":     true,
		"g eq guid'c9da6455-213d-42c9-9a79-3e9149a57833'": true, "g eq 'c9da6455-213d-42c9-9a79-3e9149a57833'": false,
		"x eq X'0102ff'": true, "x eq binary'0102FF'": true, "x ne X'01'": true,
		"_ü‿2 eq 'odd'": true,
		"missing eq 1":  false, "missing ne 1": false, "not (missing eq 1)": true, "missing": false,
		"i eq 7 and s eq 'x' or b": true, "i eq 7 and (s eq 'x' or not b)": false, "not not b": true,
		"(((i eq 7)))": true, "not (i eq 7 and b)": false,
	} {
		e, err := Parse(filter)
		if err != nil {
			t.Errorf("Parse(%q): %v", filter, err)
			continue
		}
		if e == nil {
			continue
		}
		if got := e.Match(sample()); got != want {
			t.Errorf("%q matches = %v, want %v", filter, got, want)
		}
	}
}

func TestBadFilterIsRefusedWithACode(t *testing.T) {
	for filter, code := range map[string]string{
		"i eq": "InvalidInput", "eq 7": "InvalidInput", "(i eq 7": "InvalidInput", "i eq 7)": "InvalidInput",
		"i eq 7 8": "InvalidInput", "nan eq nan": "InvalidInput", // two properties
		"s eq 'x": "InvalidInput", "i = 7": "InvalidInput", "i eq 7 and": "InvalidInput", "7": "InvalidInput",
		"7 eq 7": "InvalidInput", "t eq datetime'yesterday'": "InvalidInput", "g eq guid'1'": "InvalidInput",
		"x eq X'0'": "InvalidInput", "i eq 1x": "InvalidInput", "s eq foo'x'": "InvalidInput",
		"i eq 0x10": "InvalidInput", "i eq 99999999999999999999L": "InvalidInput",
		"startswith(s, 'i')": "NotImplemented", "length(s) eq 3": "NotImplemented",
		strings.Repeat("(", MaxDepth+1) + "b":                    "InvalidInput",
		strings.Repeat("not ", MaxDepth+1) + "b":                 "InvalidInput",
		strings.Repeat("i eq 7 and ", MaxComparisons) + "i eq 7": "InvalidInput",
		strings.Repeat("(", 1<<20):                               "InvalidInput",
	} {
		_, err := Parse(filter)
		e, ok := errors.AsType[*wire.Error](err)
		if !ok || e.Code != code {
			t.Errorf("Parse(%.40q) = %v, want code %s", filter, err, code)
		}
	}
}

func TestKeysOfFilters(t *testing.T) {
	at := func(key string) Bound { return Bound{Key: key, Set: true} }
	beyond := func(key string) Bound { return Bound{Key: key, Set: true, Open: true} }
	p := Interval{Low: at("p"), High: at("p")}
	for filter, want := range map[string]Keys{
		"":                               {},
		"PartitionKey eq 'p'":            {Partition: p},
		"PartitionKey gt 'p'":            {Partition: Interval{Low: beyond("p")}},
		"PartitionKey ge 'p' and i eq 7": {Partition: Interval{Low: at("p")}},
		"PartitionKey ge 'p' or i eq 7":  {},
		"not (PartitionKey eq 'p')":      {},
		"PartitionKey ne 'p'":            {},
		"PartitionKey eq 7":              {},
		"'p' le PartitionKey and PartitionKey lt 'q'": {Partition: Interval{Low: at("p"), High: beyond("q")}},
		"PartitionKey eq 'p' and RowKey gt '1' and RowKey le '5'": {Partition: p,
			Row: Interval{Low: beyond("1"), High: at("5")}},
		"PartitionKey eq 'p' and (RowKey eq '1' or RowKey eq '5')": {Partition: p,
			Row: Interval{Low: at("1"), High: at("5")}},
		"PartitionKey eq 'p' and RowKey gt '1' and RowKey ge '1'": {Partition: p, Row: Interval{Low: beyond("1")}},
	} {
		e, err := Parse(filter)
		if err != nil {
			t.Fatalf("Parse(%q): %v", filter, err)
		}
		if got := KeysOf(e); got != want {
			t.Errorf("keys of %q = %+v, want %+v", filter, got, want)
		}
	}
	e, err := Parse("PartitionKey eq 'p' and PartitionKey eq 'q'")
	if err != nil || !KeysOf(e).Partition.Empty {
		t.Errorf("keys of a contradiction = %+v, %v; want empty", KeysOf(e), err)
	}
}

func (i Interval) holds(s string) bool {
	return !i.Empty && (!i.Low.Set || s > i.Low.Key || s == i.Low.Key && !i.Low.Open) &&
		(!i.High.Set || s < i.High.Key || s == i.High.Key && !i.High.Open)
}

// No filter panics or matches a row outside its keys.
func FuzzFilter(f *testing.F) {
	for _, seed := range []string{"PartitionKey eq 'p' and RowKey gt 'r1'", "not (s eq 'it''s') or x eq X'01'",
		"t ge datetime'2026-01-01T00:00:00Z'", "RowKey ge 'r5' and RowKey lt 'r6' and (i eq 7 or l gt 5L)",
		"g eq guid'c9da6455-213d-42c9-9a79-3e9149a57833'", "d lt -1.5e300"} {
		f.Add(seed, "p", "r5")
	}
	f.Fuzz(func(t *testing.T, filter, partition, row string) {
		e, err := Parse(filter)
		if err != nil {
			if e, ok := errors.AsType[*wire.Error](err); !ok || e.Status < 400 || e.Status >= 600 || e.Status == 500 {
				t.Fatalf("Parse(%q) = %v", filter, err)
			}
			return
		}
		r := sample()
		r.Partition, r.Row = partition, row
		k := KeysOf(e)
		if e != nil && e.Match(r) && !(k.Partition.holds(partition) && k.Row.holds(row)) {
			t.Fatalf("%q matches (%q, %q) outside its keys %+v", filter, partition, row, k)
		}
	})
}
