package entity

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/wire"
)

func code(err error) string {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e.Code
	}
	return fmt.Sprint(err)
}

func TestTypesSurviveStorage(t *testing.T) {
	body := `{"PartitionKey":"p","RowKey":"r","s":"h\u00e9\"\n\ud83d\ude00","i":-7,"big":3000000000,"d":1.0,"e":1e300,"yes":true,
		"l@odata.type":"Edm.Int64","l":"-9223372036854775808","t":"2026-11-20T10:00:00.1234567+02:00","t@odata.type":"Edm.DateTime",
		"g@odata.type":"Edm.Guid","g":"C9DA6455-213D-42C9-9A79-3E9149A57833","x":"AQL/","x@odata.type":"Edm.Binary",
		"nan":"NaN","nan@odata.type":"Edm.Double","inf":"-Infinity","inf@odata.type":"Edm.Double","gone":null,"odata.etag":"x","Timestamp":"no"}`
	b := must.Have(Parse([]byte(body)))(t)
	e := Entity{Timestamp: MinDateTime, Properties: b.Properties}
	render := Renderer{Level: MinimalMetadata, Base: "http://h/a", Table: "t"}
	got := string(render.Append(nil, "p", "r", e.Append(nil), false))
	want := `{"odata.etag":"W/\"datetime'1601-01-01T00%3A00%3A00Z'\"","PartitionKey":"p","RowKey":"r",` +
		`"Timestamp":"1601-01-01T00:00:00Z",` +
		`"s":"hé\"\n😀","i":-7,"big":3000000000.0,"d":1.0,"e":1E+300,"yes":true,` +
		`"l@odata.type":"Edm.Int64","l":"-9223372036854775808","t@odata.type":"Edm.DateTime",` +
		`"t":"2026-11-20T08:00:00.1234567Z",` +
		`"g@odata.type":"Edm.Guid","g":"c9da6455-213d-42c9-9a79-3e9149a57833","x@odata.type":"Edm.Binary","x":"AQL/",` +
		`"nan@odata.type":"Edm.Double","nan":"NaN","inf@odata.type":"Edm.Double","inf":"-Infinity"}`
	if got != want {
		t.Errorf("rendered\n%s\nwant\n%s", got, want)
	}
}

// A merge replaces what both have where it was, and adds the rest.
func TestMergesAddAndReplace(t *testing.T) {
	of := func(text string) (all []Property) {
		for name := range strings.SplitSeq(text, ",") {
			if name, value, ok := strings.Cut(name, "="); ok {
				all = append(all, Property{name, Value{Type: String, Raw: []byte(value)}})
			}
		}
		return all
	}
	for _, c := range []struct{ old, other, want string }{
		{"", "", ""},
		{"", "a=1,b=2", "a=1,b=2"},
		{"a=1,b=2", "", "a=1,b=2"},
		{"a=1,b=2,c=3", "b=9", "a=1,b=9,c=3"},
		{"a=1,b=2,c=3", "d=4,c=9,a=8", "a=8,b=2,c=9,d=4"},
		{"ab=1", "a=2,abc=3", "ab=1,a=2,abc=3"},
	} {
		old := Entity{Timestamp: MinDateTime, Properties: of(c.old)}
		got := Stored(old.Append(nil)).Merge(of(c.other))
		if want := of(c.want); len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%q with %q is %v", c.old, c.other, got)
		}
	}
}

func TestBadEntityIsRefusedWithACode(t *testing.T) {
	many := func(n int) string {
		var b strings.Builder
		b.WriteString("{")
		for i := range n {
			fmt.Fprintf(&b, `"p%d":1,`, i)
		}
		return b.String() + `"RowKey":"r"}`
	}
	for body, want := range map[string]string{
		``: "InvalidInput", `[]`: "InvalidInput", `{`: "InvalidInput", `{"a":1}x`: "InvalidInput",
		`{"a":1,"a":2}`: "DuplicatePropertiesSpecified", `{"a":"` + "\xff" + `"}`: "InvalidInput",
		`{"a":{}}`: "InvalidInput", `{"a":[1]}`: "InvalidInput", `{"a":1,}`: "InvalidInput", `{"a":01}`: "InvalidInput",
		`{"a":"1","a@odata.type":"Edm.Decimal"}`: "InvalidInput", `{"a":"x","a@odata.type":"Edm.Int64"}`: "InvalidInput",
		`{"a":"9223372036854775808","a@odata.type":"Edm.Int64"}`: "InvalidInput", `{"a":2147483648,"a@odata.type":"Edm.Int32"}`: "InvalidInput",
		`{"a":"?","a@odata.type":"Edm.Binary"}`: "InvalidInput", `{"a":"","a@odata.type":"Edm.Guid"}`: "InvalidInput",
		`{"a":"1600-12-31T23:59:59Z","a@odata.type":"Edm.DateTime"}`: "OutOfRangeInput", `{"a":"x","a@odata.type":"Edm.DateTime"}`: "InvalidInput",
		`{"a":1e999}`: "InvalidInput", `{"a":5,"a@odata.type":"Edm.String"}`: "InvalidInput", `{"a":"1","a@odata.type":"Edm.Boolean"}`: "InvalidInput", `{"a":1,"a@odata.type":"Edm.Boolean"}`: "InvalidInput",
		`{"a-b":1}`: "PropertyNameInvalid", `{"":1}`: "PropertyNameInvalid", `{"1a":1}`: "PropertyNameInvalid", `{"a b":1}`: "PropertyNameInvalid",
		`{"PartitionKey":1}`: "InvalidInput", `{"PartitionKey":"a/b"}`: "OutOfRangeInput", `{"RowKey":"a\\b"}`: "OutOfRangeInput", `{"RowKey":"a#"}`: "OutOfRangeInput",
		`{"RowKey":"a?"}`: "OutOfRangeInput", `{"RowKey":"\u0000"}`: "OutOfRangeInput", `{"RowKey":"\u0085"}`: "OutOfRangeInput",
		`{"RowKey":"` + strings.Repeat("k", MaxKey+1) + `"}`: "KeyValueTooLarge", many(MaxProperties + 3): "TooManyProperties",
	} {
		b, err := Parse([]byte(body))
		if got := code(err); got != want {
			t.Errorf("Parse(%.60q) = %v, %s; want %s", body, b, got, want)
		}
	}
}

// TestTextIsMeasuredInUTF16: the service counts two bytes for each UTF-16 unit of a text, whatever it takes in UTF-8.
func TestTextIsMeasuredInUTF16(t *testing.T) {
	of := func(text string, times, properties int) error {
		e := Entity{}
		for i := range properties {
			v := Value{Type: String, Raw: []byte(strings.Repeat(text, times))}
			e.Properties = append(e.Properties, Property{fmt.Sprintf("p%d", i), v})
		}
		return e.Check("p", "r")
	}
	for _, c := range []struct {
		text              string
		times, properties int
		want              string
	}{
		{"温", 10_000, 20, "<nil>"}, {"温", 10_000, 53, "EntityTooLarge"},
		{"é", 16_000, 32, "<nil>"}, {"é", 16_000, 33, "EntityTooLarge"},
		{"😀", 8_000, 32, "<nil>"}, {"😀", 8_000, 33, "EntityTooLarge"},
		{"a", 32 << 10, 15, "<nil>"}, {"a", 32 << 10, 16, "EntityTooLarge"},
		{"温", 32 << 10, 1, "<nil>"}, {"温", 32<<10 + 1, 1, "PropertyValueTooLarge"},
		{"😀", 16 << 10, 1, "<nil>"}, {"😀", 16<<10 + 1, 1, "PropertyValueTooLarge"},
	} {
		if got := code(of(c.text, c.times, c.properties)); got != c.want {
			t.Errorf("%d properties of %d times %s: %s, want %s", c.properties, c.times, c.text, got, c.want)
		}
	}
}

func TestAnnotatedValueMayBeText(t *testing.T) {
	b, err := Parse([]byte(`{"yes":"true","yes@odata.type":"Edm.Boolean","no":"False","no@odata.type":"Edm.Boolean",` +
		`"i":"-31","i@odata.type":"Edm.Int32","d":"1.5e3","d@odata.type":"Edm.Double"}`))
	must.Succeed(t, err)
	e := Entity{Timestamp: MinDateTime, Properties: b.Properties}
	got := string((&Renderer{Select: []string{"yes", "no", "i", "d"}}).Append(nil, "p", "r", e.Append(nil), false))
	if want := `{"yes":true,"no":false,"i":-31,"d":1500.0}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestBodyMayBeginWithAByteOrderMark(t *testing.T) {
	if b, err := Parse([]byte("\uFEFF{\"PartitionKey\":\"p\"}")); err != nil || b.Partition != "p" {
		t.Errorf("%+v, %v", b, err)
	}
}

// An accepted entity is rendered as JSON that parses to the same entity.
func FuzzEntity(f *testing.F) {
	for _, seed := range []string{`{"PartitionKey":"p","RowKey":"r","a":1}`,
		`{"l":"5","l@odata.type":"Edm.Int64","d":1.5,"b":false,"s":"\ud83d"}`,
		`{"t":"2026-11-20T10:00:00Z","t@odata.type":"Edm.DateTime"}`, `{"x":"AQ==","x@odata.type":"Edm.Binary","n":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		b, err := Parse(body)
		var used Parser
		must.Have(used.Parse([]byte(`{"PartitionKey":"p","a@odata.type":"Edm.Int64","a":"1","b":true}`)))(t)
		if again, errAgain := used.Parse(body); code(errAgain) != code(err) || !reflect.DeepEqual(again, b) {
			t.Fatalf("Parse(%q) = %v, %v; after another body %v, %v", body, b, err, again, errAgain)
		}
		if err != nil {
			if e, ok := errors.AsType[*wire.Error](err); !ok || e.Status != 400 {
				t.Fatalf("Parse(%q) = %v", body, err)
			}
			return
		}
		e := Entity{Timestamp: MinDateTime, Properties: b.Properties}
		if e.Check(b.Partition, b.Row) != nil {
			return
		}
		for _, l := range []Level{MinimalMetadata, FullMetadata} {
			render := Renderer{Level: l, Base: "http://h/a", Table: "t"}
			first := render.Append(nil, b.Partition, b.Row, e.Append(nil), true)
			again, err := Parse(first)
			if err != nil {
				t.Fatalf("rendered %s: %v", first, err)
			}
			second := render.Append(nil, again.Partition, again.Row,
				(&Entity{Timestamp: MinDateTime, Properties: again.Properties}).Append(nil), true)
			if string(first) != string(second) {
				t.Fatalf("%s became %s", first, second)
			}
		}
	})
}
