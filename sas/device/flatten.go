package device

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// maxNesting is how deep a value may be nested, as in a text of JSON that workers split.
const maxNesting = 8

var errMany = fmt.Errorf("it has more than %d values, the most that a row can have: send it as several readings",
	tables.MaxProperties)

// A flattener makes properties of a document, whose values may be objects and arrays: storage takes neither.
type flattener struct {
	properties []tables.Property
	paths      map[string]string // of the value that has a name
}

// object adds the members of an object, in the order of their keys.
func (f *flattener) object(o reflect.Value, name []byte, path string, depth int) error {
	keys := o.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		inner := []byte(schema.PropertyName(key.String()))
		if depth > 0 {
			inner = schema.AppendName(append(slices.Clone(name), '_'), key.String(), maxName)
		}
		if err := f.value(o.MapIndex(key), inner, inPath(path, key.String()), depth); err != nil {
			return err
		}
	}
	return nil
}

// maxName is longer than any name that storage allows.
const maxName = 256

// inPath is the path to a member, as a person would write it: data.list[0]["tenant-id"].
func inPath(path, key string) string {
	switch {
	case tables.CheckName(key) != nil:
		return path + "[" + strconv.Quote(key[:min(len(key), maxName)]) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

func (f *flattener) value(v reflect.Value, name []byte, path string, depth int) error {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	isList := v.Kind() == reflect.Slice || v.Kind() == reflect.Array
	isMap := v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String
	switch nested := isMap || isList && v.Type().Elem().Kind() != reflect.Uint8; {
	case !nested:
		return f.leaf(v, string(name), path)
	case depth == maxNesting:
		return fmt.Errorf("value %s is nested more than %d deep", path, maxNesting)
	case isMap:
		return f.object(v, name, path, depth+1)
	}
	for i := range v.Len() {
		inner := strconv.AppendInt(append(slices.Clone(name), '_'), int64(i), 10)
		if err := f.value(v.Index(i), inner, fmt.Sprintf("%s[%d]", path, i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// leaf adds a value that is not nested.
func (f *flattener) leaf(v reflect.Value, name, path string) error {
	var plain any // null
	if v.IsValid() {
		plain = v.Interface()
	}
	value, err := valueOf(plain)
	switch other, twice := f.paths[name]; {
	case err != nil:
		return fmt.Errorf("value %s: %w", path, err)
	case value.Type() == tables.TypeNone:
		return nil
	case twice:
		return fmt.Errorf("values %s and %s would both be stored as %s: rename one of them", other, path, name)
	case len(f.properties) == tables.MaxProperties:
		return errMany
	}
	f.paths[name] = path
	f.properties = append(f.properties, tables.Property{Name: name, Value: value})
	return nil
}

// flatten returns the properties of a document.
func flatten(values map[string]any) ([]tables.Property, error) {
	f := flattener{paths: make(map[string]string, len(values))}
	if err := f.object(reflect.ValueOf(values), nil, "", 0); err != nil {
		return nil, err
	}
	if len(f.properties) == 0 {
		return nil, errors.New("it has no values")
	}
	return f.properties, nil
}
