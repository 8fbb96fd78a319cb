package azuretest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// everyType has a property of each EDM type, some at its limits.
func everyType() props {
	return props{
		"Bool":     true,
		"Int32":    int32(math.MinInt32),
		"Int64":    aztables.EDMInt64(math.MaxInt64),
		"Int64Min": aztables.EDMInt64(math.MinInt64),
		"Double":   1.5,
		"Tiny":     math.SmallestNonzeroFloat64,
		"Huge":     math.MaxFloat64,
		"String":   "text",
		"Guid":     aztables.EDMGUID("c9da6455-213d-42c9-9a79-3e9149a57833"),
		"Binary":   aztables.EDMBinary{0, 1, 2, 0xfe, 0xff},
		"Time":     aztables.EDMDateTime(time.Date(2026, 11, 20, 9, 17, 5, 123456700, time.UTC)),
		"OldTime":  aztables.EDMDateTime(time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC)),
	}
}

// Every type is read as it was written, with minimal and with full metadata, by a get and
// by a query: Int64 up to its limits, times to the tick of 100 ns.
func (tables) TypesAreReadAsWritten(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", everyType())
	for _, format := range []aztables.MetadataFormat{aztables.MetadataFormatMinimal, aztables.MetadataFormatFull} {
		got := value(c.GetEntity(t.Context(), "p", "r", &aztables.GetEntityOptions{Format: &format}))(t)
		sameProps(t, string(format), decoded(t, got.Value).Properties, everyType())
		rows := value(query(t, c, &aztables.ListEntitiesOptions{Format: &format}))(t)
		sameProps(t, string(format)+" of a query", rows[0].Properties, everyType())
	}
}

func sameProps(t *testing.T, what string, got, want props) {
	t.Helper()
	for name, w := range want {
		if !reflect.DeepEqual(got[name], w) {
			t.Errorf("%s: %s is %v (%T); want %v (%T)", what, name, got[name], got[name], w, w)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: has %s, which was not stored", what, name)
		}
	}
}

// wire reads a row's JSON as the service sends it. The SDK decodes and encodes it.
func wire(t *testing.T, c *aztables.Client, format aztables.MetadataFormat) (map[string]json.RawMessage, string) {
	t.Helper()
	var r *http.Response
	must(t, errOf(c.GetEntity(captured(t, &r), "p", "r", &aztables.GetEntityOptions{Format: &format})))
	var m map[string]json.RawMessage
	must(t, json.Unmarshal([]byte(body(t, r)), &m))
	return m, r.Header.Get("Content-Type")
}

// Minimal metadata names only the types that JSON does not have: Int64 (a string on the
// wire), DateTime, Guid and Binary, but not Timestamp's.
func (tables) MinimalMetadataNamesTypes(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", everyType())
	m, contentType := wire(t, c, aztables.MetadataFormatMinimal)
	for name, want := range map[string]string{
		"Int64": `"Edm.Int64"`, "Time": `"Edm.DateTime"`, "Guid": `"Edm.Guid"`, "Binary": `"Edm.Binary"`,
		"Bool": "", "Int32": "", "String": "", "Timestamp": "",
	} {
		expect(t, a, "type of "+name, string(m[name+"@odata.type"]), want)
	}
	expect(t, a, "Int64", string(m["Int64"]), `"9223372036854775807"`)
	expect(t, a, "Time", string(m["Time"]), `"2026-11-20T09:17:05.1234567Z"`)
	expect(t, a, "Binary", string(m["Binary"]), `"AAEC/v8="`)
	expect(t, a, "has its ETag", len(m["odata.etag"]) > 0, true)
	expect(t, a, "level", strings.Split(contentType, ";")[1], "odata=minimalmetadata")
}

// Without metadata there are no types, no ETag and no addresses, only values.
func (tables) NoMetadataIsBareJSON(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", everyType())
	m, contentType := wire(t, c, aztables.MetadataFormatNone)
	for name := range m {
		if strings.Contains(name, "odata.") {
			t.Errorf("has %s", name)
		}
	}
	expect(t, a, "properties", len(m), len(everyType())+3)
	expect(t, a, "level", strings.Split(contentType, ";")[1], "odata=nometadata")
}

// Full metadata adds the entity's type, address and ETag.
func (tables) FullMetadataHasAddresses(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", everyType())
	m, contentType := wire(t, c, aztables.MetadataFormatFull)
	for _, name := range []string{"odata.metadata", "odata.type", "odata.id", "odata.etag", "odata.editLink"} {
		expect(t, a, "has "+name, len(m[name]) > 0, true)
	}
	expect(t, a, "ends in its keys", bytes.HasSuffix(m["odata.id"], []byte(`(PartitionKey='p',RowKey='r')"`)), true)
	expect(t, a, "type of Timestamp", string(m["Timestamp@odata.type"]), `"Edm.DateTime"`)
	expect(t, a, "level", strings.Split(contentType, ";")[1], "odata=fullmetadata")
}

// A string can be any Unicode text, including characters that JSON, XML and OData escape.
func (tables) StringsAreReadAsWritten(t *testing.T, a Account) {
	c := a.NewTable(t)
	texts := []string{"", " ", "it's", `"double"`, `back\slash`, "<a href='x'>&amp;</a>", "grüße 日本語 😀", "null",
		"tab\tline\nreturn\r", "/#?%41+", "\u2028", "\ufeff", "2026-11-20T09:17:05Z", "5", "true"}
	p := props{}
	for i, s := range texts {
		p[fmt.Sprintf("S%d", i)] = s
	}
	insert(t, c, "p", "r", p)
	got, _ := stored(t, c, "p", "r")
	sameProps(t, "strings", got, p)
}

// A whole Double keeps its decimal point, so it stays a Double. (The SDK drops the point.)
// A number without a point is an Int32.
func (tables) WholeDoublesStayDoubles(t *testing.T, a Account) {
	c := a.NewTable(t)
	_, err := c.AddEntity(t.Context(),
		[]byte(`{"PartitionKey":"p","RowKey":"r","Whole":3,"Whole@odata.type":"Edm.Double","Int":3,"Zero":0,"Zero@odata.type":"Edm.Double"}`), nil)
	must(t, err)
	m, _ := wire(t, c, aztables.MetadataFormatMinimal)
	expect(t, a, "Whole", string(m["Whole"]), "3.0")
	expect(t, a, "Zero", string(m["Zero"]), "0.0")
	expect(t, a, "Int", string(m["Int"]), "3")
	expect(t, a, "found as a double", keys(t, c, "Whole eq 3.0"), "p/r")
}

// NaN and the infinities are strings annotated as Edm.Double.
func (tables) NotANumberIsADouble(t *testing.T, a Account) {
	c := a.NewTable(t)
	_, err := c.AddEntity(t.Context(), []byte(`{"PartitionKey":"p","RowKey":"r",
		"N":"NaN","N@odata.type":"Edm.Double","I":"Infinity","I@odata.type":"Edm.Double","M":"-Infinity","M@odata.type":"Edm.Double"}`), nil)
	must(t, err)
	m, _ := wire(t, c, aztables.MetadataFormatMinimal)
	for name, want := range map[string]string{"N": `"NaN"`, "I": `"Infinity"`, "M": `"-Infinity"`} {
		expect(t, a, name, string(m[name]), want)
		expect(t, a, "type of "+name, string(m[name+"@odata.type"]), `"Edm.Double"`)
	}
}

// A null property is not stored.
func (tables) NullIsAbsent(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", props{"A": nil, "B": "x"})
	upsert(t, c, aztables.UpdateModeReplace, row(t, "p", "s", props{"A": nil, "B": "x"}))
	for _, rk := range []string{"r", "s"} {
		p, _ := stored(t, c, "p", rk)
		expect(t, a, "properties of "+rk, fmt.Sprint(p), "map[B:x]")
	}
}

// Properties whose names differ by case are different properties.
func (tables) PropertyNamesAreCaseSensitive(t *testing.T, a Account) {
	c := a.NewTable(t)
	insert(t, c, "p", "r", props{"Temp": "1", "temp": "2"})
	p, _ := stored(t, c, "p", "r")
	expect(t, a, "properties", fmt.Sprint(p), "map[Temp:1 temp:2]")
}

// A value that does not fit its stated type is refused, and with it the entity.
func (tables) ValuesMustFitTheirType(t *testing.T, a Account) {
	c := a.NewTable(t)
	try := func(property string) int {
		_, err := c.AddEntity(t.Context(), []byte(`{"PartitionKey":"p","RowKey":"`+Name("r")+`",`+property+`}`), nil)
		return status(err)
	}
	for _, property := range []string{
		`"V":"x","V@odata.type":"Edm.Boolean"`,
		`"V":{"nested":1}`,
		`"V":[1,2]`,
	} {
		expect(t, a, property, try(property), 400)
	}
	for _, property := range []string{
		`"V":"x","V@odata.type":"Edm.Int64"`,
		`"V":"9223372036854775808","V@odata.type":"Edm.Int64"`,
		`"V":"not a time","V@odata.type":"Edm.DateTime"`,
		`"V":"not-a-guid","V@odata.type":"Edm.Guid"`,
		`"V":"***","V@odata.type":"Edm.Binary"`,
	} {
		expect(t, a, property, try(property), 400, differs(Azurite, 0, "stores annotated text unchecked"))
	}
	expect(t, a, "an unknown type", try(`"V":"x","V@odata.type":"Edm.Nothing"`), 400,
		differs(Azurite, 500, "fails on an unknown type"))
}
