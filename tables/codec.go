package tables

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Encode adds the properties of a row to e, in the order of its fields. A row is a pointer to a struct. Each of its
// fields with a tag is a property; fields without one, such as those that are parts of the keys, are left alone:
//
//	type Mute struct {
//		ID     string                                     // is the row key
//		Site   Site              `row:"Site,omitzero"`   // a String, left out if it is empty
//		Labels map[string]string `row:"Labels,omitzero"` // a String with JSON, left out if it is empty
//		From   Ticks             `row:"From"`            // a DateTime
//		Until  Ticks             `row:"Until,int64"`     // an Int64
//	}
//
// The type of the field determines that of the property:
//
//	text, and types with MarshalText, but Ticks  String
//	bool                                         Boolean
//	int, int64                                   Int64
//	time.Duration                                Int64, in whole seconds
//	float64                                      Double
//	Ticks                                        DateTime; with the option int64 an Int64, with text a String
//	[]byte                                       Binary
//	any other                                    String, with JSON; empty for an empty slice or map
//
// With the option omitzero, a property is left out if what would be stored is empty, zero or false. Encode returns why
// the first value cannot be stored, such as text in JSON that is not UTF-8. It panics if a tag is wrong, which is a
// mistake in the program.
func (e *Entity) Encode(row any) (err error) {
	v := reflect.ValueOf(row).Elem()
	columns := columnsOf(v.Type())
	e.Properties = slices.Grow(e.Properties, min(len(columns), 8))
	for i := range columns {
		c := &columns[i]
		field := v.Field(c.field)
		if c.omitZero && field.IsZero() {
			continue
		}
		value, errValue := c.encode(field)
		switch zero := value.bits == 0 && value.text == ""; {
		case errValue != nil:
			err = cmp.Or(err, fmt.Errorf("property %s: %w", c.name, errValue))
		case !zero || !c.omitZero:
			e.Properties = append(e.Properties, Property{c.name, value})
		}
	}
	return err
}

// Decode reads the properties of a row that Encode wrote. A field whose property is absent stays as it is, and
// properties without a field are ignored: rows of other versions of the program may have less or more. Like the readers
// of one property, it takes integers of either size, an integer for a float64, and a GUID for a text.
func (f *Fields) Decode(row any) {
	v := reflect.ValueOf(row).Elem()
	columns := columnsOf(v.Type())
	next := 0
	for i := range f.entity.Properties {
		p := &f.entity.Properties[i]
		at := find(columns, p.Name, next)
		if at < 0 {
			continue
		}
		next = at + 1
		if c := &columns[at]; f.check(p.Name, p.Value, c.types...) {
			if err := c.decode(v.Field(c.field), p.Value); err != nil {
				f.Fail("property "+p.Name, err)
			}
		}
	}
}

// find returns the index of the column with a name, or -1. It looks first where the column is that follows the last
// one, as rows are stored in the order of columns.
func find(columns []rowColumn, name string, from int) int {
	for n := range columns {
		i := from + n
		if i >= len(columns) {
			i -= len(columns)
		}
		if columns[i].name == name {
			return i
		}
	}
	return -1
}

// Columns returns the names of the properties of a type of rows.
func Columns[T any]() (names []string) {
	for _, c := range columnsOf(reflect.TypeFor[T]()) {
		names = append(names, c.name)
	}
	return names
}

// A rowColumn is a field with a tag, and its property.
type rowColumn struct {
	name     string
	field    int
	omitZero bool
	form
}

// A form is how values of a Go type are stored.
type form struct {
	types  []Type // the first is written, all are read
	encode func(reflect.Value) (Value, error)
	decode func(reflect.Value, Value) error
}

// columnsByType remembers what the tags of a type say, because reading them takes longer than encoding a row. It is
// a variable of the package, as nothing but the type determines what it holds, like the methods of the type.
var columnsByType sync.Map // []rowColumn by reflect.Type

func columnsOf(t reflect.Type) []rowColumn {
	if known, is := columnsByType.Load(t); is {
		return known.([]rowColumn)
	}
	var columns []rowColumn
	for field := range t.Fields() {
		tag, is := field.Tag.Lookup("row")
		if !is {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		c := rowColumn{name: name, field: field.Index[0]}
		as, omit := strings.CutSuffix(options, "omitzero")
		c.omitZero = omit
		var known bool
		if c.form, known = formOf(field.Type, strings.TrimSuffix(as, ",")); !known || CheckName(name) != nil ||
			find(columns, name, 0) >= 0 {
			panic(fmt.Sprintf("tables: the tag %q of %s.%s is wrong", tag, t, field.Name))
		}
		columns = append(columns, c)
	}
	columnsByType.Store(t, columns)
	return columns
}

// formOf returns the form of a type with an option, or false if the option is not for the type.
func formOf(t reflect.Type, as string) (f form, known bool) {
	switch ticks := t == reflect.TypeFor[Ticks](); {
	case ticks && as == "":
		return simple(func(v reflect.Value) Value { return DateTime(Ticks(v.Int())) },
			func(v reflect.Value, p Value) { v.SetInt(int64(p.Ticks())) }, TypeDateTime), true
	case as != "" && !(ticks && (as == "int64" || as == "text")):
		return f, false
	case as != "int64" && reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return form{[]Type{TypeString, TypeGUID}, encodeText, decodeText}, true
	case t == reflect.TypeFor[time.Duration]():
		return simple(func(v reflect.Value) Value { return Int64(v.Int() / int64(time.Second)) },
			func(v reflect.Value, p Value) { v.SetInt(p.Int() * int64(time.Second)) }, TypeInt64, TypeInt32), true
	case t == reflect.TypeFor[[]byte]():
		return simple(func(v reflect.Value) Value { return Binary(v.Bytes()) },
			func(v reflect.Value, p Value) { v.SetBytes(p.Binary()) }, TypeBinary), true
	}
	return formOfKind(t.Kind()), true
}

func formOfKind(k reflect.Kind) form {
	switch k {
	case reflect.String:
		return simple(func(v reflect.Value) Value { return String(v.String()) },
			func(v reflect.Value, p Value) { v.SetString(p.Text()) }, TypeString, TypeGUID)
	case reflect.Bool:
		return simple(func(v reflect.Value) Value { return Boolean(v.Bool()) },
			func(v reflect.Value, p Value) { v.SetBool(p.Boolean()) }, TypeBoolean)
	case reflect.Int, reflect.Int64:
		return simple(func(v reflect.Value) Value { return Int64(v.Int()) },
			func(v reflect.Value, p Value) { v.SetInt(p.Int()) }, TypeInt64, TypeInt32)
	case reflect.Float64:
		return simple(func(v reflect.Value) Value { return Double(v.Float()) },
			func(v reflect.Value, p Value) { v.SetFloat(p.Float()) }, TypeDouble, TypeInt32, TypeInt64)
	}
	return form{[]Type{TypeString, TypeGUID}, encodeJSON, decodeJSON}
}

// simple returns the form of a type all of whose values can be stored.
func simple(encode func(reflect.Value) Value, decode func(reflect.Value, Value), types ...Type) form {
	return form{types, func(v reflect.Value) (Value, error) { return encode(v), nil },
		func(v reflect.Value, p Value) error { decode(v, p); return nil }}
}

func encodeText(v reflect.Value) (Value, error) {
	text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
	return String(string(text)), err
}

func decodeText(v reflect.Value, p Value) error {
	return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(p.Text()))
}

func encodeJSON(v reflect.Value) (Value, error) {
	if k := v.Kind(); (k == reflect.Slice || k == reflect.Map) && v.Len() == 0 {
		return String(""), nil
	}
	text, err := json.Marshal(v.Addr().Interface(), json.Deterministic(true))
	return String(string(text)), err
}

func decodeJSON(v reflect.Value, p Value) error {
	if p.Text() == "" {
		return nil
	}
	return json.Unmarshal([]byte(p.Text()), v.Addr().Interface())
}
