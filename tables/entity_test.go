package tables

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

// everything returns an entity with properties of each type, including its limits.
func everything() Entity {
	e := Entity{PartitionKey: "it's", RowKey: "0639307630201234567-a"}
	for i, v := range []Value{
		String(""), String("78.8"), String("a\"b\\c\n\u2028é😀"), Boolean(true), Boolean(false),
		Int32(0), Int32(math.MinInt32), Int32(math.MaxInt32), Int64(0), Int64(math.MinInt64), Int64(math.MaxInt64),
		Int64(1<<53 + 1), Double(0), Double(math.Copysign(0, -1)), Double(21), Double(-1.5), Double(math.MaxFloat64),
		Double(math.SmallestNonzeroFloat64), Double(1e21), Double(1e15), Double(math.Inf(1)), Double(math.Inf(-1)),
		Double(math.NaN()),
		DateTime(minDateTime), DateTime(MaxTicks), DateTime(639307630201234567),
		Binary(nil), Binary([]byte{0, 1, 0xff}), GUID("c9da6455-213d-42c9-9a79-3e9149a57833"),
	} {
		e.Properties = append(e.Properties, Property{fmt.Sprintf("P%02d", i), v})
	}
	return e
}

func TestEveryTypeIsDecodedAsEncoded(t *testing.T) {
	want := everything()
	must.Succeed(t, want.Check())
	body := must.Have(appendEntity(nil, &want))(t)
	got := must.Have(decodeEntity(body))(t)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAnnotationsMayBeAnywhere(t *testing.T) {
	want := []Property{{"A", Int64(5)}, {"B", Double(21)}, {"C", DateTime(minDateTime)}}
	for _, body := range []string{
		`{"A@odata.type":"Edm.Int64","A":"5","B@odata.type":"Edm.Double","B":21,"C@odata.type":"Edm.DateTime",` +
			`"C":"1601-01-01T00:00:00Z"}`,
		`{"A":"5","A@odata.type":"Edm.Int64","B":21.0,"C":"1601-01-01T00:00:00Z","C@odata.type":"Edm.DateTime"}`,
		`{"A@odata.type":"Edm.Int64","B@odata.type":"Edm.Double","C@odata.type":"Edm.DateTime","A":"5","B":21,` +
			`"C":"1601-01-01T00:00:00.0000000Z"}`,
		`{"A":"5","B":21,"C":"1601-01-01T01:00:00+01:00","C@odata.type":"Edm.DateTime","B@odata.type":"Edm.Double",` +
			`"A@odata.type":"Edm.Int64","D@odata.type":"Edm.Guid","E":null}`,
	} {
		got, err := decodeEntity([]byte(body))
		if err != nil || !reflect.DeepEqual(got.Properties, want) {
			t.Errorf("%s\ngot %v, %v", body, got.Properties, err)
		}
	}
}

func TestTypesOfPlainNumbers(t *testing.T) {
	for text, want := range map[string]Value{
		"1": Int32(1), "1.0": Double(1), "1e3": Double(1000), "2147483648": Int64(2147483648),
		"-0":               Double(math.Copysign(0, -1)),
		"9007199254740993": Int64(9007199254740993), "9223372036854775808": Double(9223372036854775808),
	} {
		got, err := decodeEntity([]byte(`{"P":` + text + `}`))
		if err != nil || got.Get("P") != want {
			t.Errorf("%s is %s %v, %v; want %s", text, got.Get("P").Type(), got.Get("P"), err, want.Type())
		}
	}
}

func TestInvalidAnswersAreErrors(t *testing.T) {
	for _, body := range []string{
		"", "[]", "{", `{"P":{}}`, `{"P":[1]}`, `{"Timestamp":"yesterday"}`, `{"PartitionKey":1}`, `{"P@odata.type":1}`,
		`{"P":"\x"}`,
	} {
		if e, err := decodeEntity([]byte(body)); err == nil {
			t.Errorf("%s is read as %+v", body, e)
		}
	}
	for _, body := range []string{"", "[]", `{"value":{}}`, `{"value":[1]}`, `{"value":[{}]`} {
		if page, err := decodePage([]byte(body)); err == nil {
			t.Errorf("%s is read as %+v", body, page)
		}
	}
}

// Azurite stores any text under any type, and half a surrogate pair.
func TestStrangeValueLeavesThePageReadable(t *testing.T) {
	for body, want := range map[string]Value{
		`"P@odata.type":"Edm.Int64","P":"x"`: String("x"), `"P":"x","P@odata.type":"Edm.Int64"`: String("x"),
		`"P@odata.type":"Edm.Binary","P":"*"`: String("*"), `"P@odata.type":"Edm.Int32","P":1.5`: String("1.5"),
		`"P":1.5,"P@odata.type":"Edm.Int32"`:            String("1.5"),
		`"P@odata.type":"Edm.Int32","P":"3000000000"`:   String("3000000000"),
		`"P@odata.type":"Edm.DateTime","P":"yesterday"`: String("yesterday"), `"P@odata.type":"Edm.Nothing","P":1`: Int32(1),
		`"P":1e999`: String("1e999"), `"P":"a\ud83db"`: String("a\uFFFDb"), `"P":"\udc00\ud83d"`: String("\uFFFD\uFFFD"),
		"\"P\":\"\xff\"": String("\uFFFD"),
	} {
		page, err := decodePage([]byte(`{"value":[{"RowKey":"1",` + body + `},{"RowKey":"2","P":7}]}`))
		if err != nil || len(page) != 2 || page[0].Get("P") != want || page[1].Get("P") != Int32(7) {
			t.Errorf("%s is read as %+v, %v; want %#v", body, page, err, want)
		}
	}
}

func TestCheckSaysWhyAnEntityIsRefused(t *testing.T) {
	with := func(name string, v Value) Entity {
		return Entity{PartitionKey: "p", RowKey: "r", Properties: []Property{{"A", Int32(1)}, {name, v}}}
	}
	many := Entity{PartitionKey: "p", RowKey: "r"}
	for i := range MaxProperties + 1 {
		many.Set(fmt.Sprintf("P%d", i), Int32(1))
	}
	big := Entity{PartitionKey: "p", RowKey: "r"}
	for i := range 17 {
		big.Set(fmt.Sprintf("P%d", i), Binary(make([]byte, MaxProperty)))
	}
	for want, e := range map[string]Entity{
		"partition key is empty": {RowKey: "r"},
		`row key "a/b"`:          {PartitionKey: "p", RowKey: "a/b"},
		`character ' '`:          with("a b", Int32(1)),
		`character '1'`:          with("1a", Int32(1)),
		"belongs to storage":     with("Timestamp", Int32(1)),
		"A is given twice":       with("A", Int32(1)),
		"a name has 1 to 255":    with("", Int32(1)),
		"text is not UTF-8":      with("B", String("\xff")),
		"B has 65538 bytes":      with("B", String(strings.Repeat("x", 32769))),
		"B has 65537 bytes":      with("B", Binary(make([]byte, 65537))),
		"between 1601 and 9999":  with("B", DateTime(0)),
		"has 253 properties":     many,
		"bytes; at most 1048576": big,
	} {
		if err := e.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check() = %v, want %q", err, want)
		}
	}
}

func TestSetReplacesAndRemoves(t *testing.T) {
	var e Entity
	e.Set("A", Int32(1))
	e.Set("B", Int32(2))
	e.Set("A", Int32(3))
	e.Set("B", Value{})
	e.Set("C", Value{})
	if want := []Property{{"A", Int32(3)}}; !reflect.DeepEqual(e.Properties, want) {
		t.Errorf("got %v, want %v", e.Properties, want)
	}
}

func FuzzDecodeEntity(f *testing.F) {
	body := must.Have(appendEntity(nil, new(everything())))(f)
	f.Add(body)
	f.Add([]byte(`{"odata.etag":"x","A":"5","A@odata.type":"Edm.Int64","B":1e5,"C":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := decodeEntity(body)
		if err != nil || e.Check() != nil {
			return
		}
		body = must.Have(appendEntity(nil, &e))(t)
		again, err := decodeEntity(body)
		e.ETag, e.Timestamp = "", 0
		if err != nil || !reflect.DeepEqual(e, again) {
			t.Fatalf("%s\nread as  %+v\nthen as %+v, %v", body, e, again, err)
		}
	})
}

// page returns a page of rows in the form of storage.
func page(rows int, annotated string) []byte {
	b := []byte(`{"odata.metadata":"http://127.0.0.1:10002/devstoreaccount1/$metadata#readings","value":[`)
	at := TicksOf(time.Date(2026, 11, 20, 9, 17, 0, 0, time.UTC))
	for i := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"odata.etag":"W/\"datetime'2026-11-20T09%%3A17%%3A00.1234567Z'\"",`+
			`"PartitionKey":"contoso:us-5260:Giles","RowKey":"%s","Timestamp":"2026-11-20T09:17:00.1234567Z",%s}`,
			at.Add(time.Duration(i)*time.Second), annotated)
	}
	return append(b, "]}"...)
}

// TestRowsOfAPageMayDiffer has rows with other members, in another order, and none of them changes another.
func TestRowsOfAPageMayDiffer(t *testing.T) {
	page := must.Have(decodePage([]byte(`{"value":[{"PartitionKey":"p","RowKey":"1","A":1,"B":"x"},` +
		`{"RowKey":"2","B":"y","PartitionKey":"p","A":2},{},{"PartitionKey":"q","RowKey":"4","C":true,"odata.etag":"e\"4"},` +
		`{"PartitionKey":"p","RowKey":"5","A":5,"B":"z","C":false,"odata.etag":"e\"5"}]}`)))(t)
	want := []Entity{
		{PartitionKey: "p", RowKey: "1", Properties: []Property{{"A", Int32(1)}, {"B", String("x")}}},
		{PartitionKey: "p", RowKey: "2", Properties: []Property{{"B", String("y")}, {"A", Int32(2)}}},
		{},
		{PartitionKey: "q", RowKey: "4", ETag: `e"4`, Properties: []Property{{"C", Boolean(true)}}},
		{PartitionKey: "p", RowKey: "5", ETag: `e"5`, Properties: []Property{{"A", Int32(5)}, {"B", String("z")},
			{"C", Boolean(false)}}}}
	page[0].Set("D", Int32(9))
	want[0].Set("D", Int32(9))
	if !reflect.DeepEqual(page, want) {
		t.Errorf("read as %+v\nwant    %+v", page, want)
	}
}

func TestFieldsConvertNumbers(t *testing.T) {
	e := Entity{Properties: []Property{{"I", Int32(21)}, {"L", Int64(1 << 40)}, {"D", Double(1.5)},
		{"T", DateTime(minDateTime)}, {"B", Binary([]byte{1})}, {"O", Boolean(true)}}}
	f := e.Fields()
	if f.Float("I") != 21 || f.Float("L") != 1<<40 || f.Float("D") != 1.5 || f.Int("I") != 21 || f.Int("L") != 1<<40 ||
		f.Ticks("T") != minDateTime || len(f.Binary("B")) != 1 || !f.Boolean("O") || f.String("nothing") != "" ||
		f.Err() != nil {
		t.Errorf("read otherwise: %v", f.Err())
	}
	if f.Int("D"); f.Err() == nil {
		t.Error("1.5 is an integer")
	}
}

func TestCheckKeySaysWhyAKeyIsRefused(t *testing.T) {
	for key, want := range map[string]string{
		"":                          "empty",
		"a/b":                       `'/' at position 2`,
		`a\b`:                       `'\\' at position 2`,
		"#":                         `'#' at position 1`,
		"é?":                        `'?' at position 2`,
		"50%":                       `'%' at position 3`,
		"a\x00":                     `'\x00' at position 2`,
		"a\u0085":                   `'\u0085' at position 2`,
		"a\xff":                     "not UTF-8",
		strings.Repeat("a", 1025):   "1025 characters",
		strings.Repeat("😀", 513):    "1026 characters",
		"it's":                      "",
		"contoso!1h!2026-11-20":     "",
		"\ufffd":                    "",
		strings.Repeat("é", maxKey): "",
	} {
		err := CheckKey(key)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("CheckKey(%.40q) = %v, want %q", key, err, want)
		}
	}
}
