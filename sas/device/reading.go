package device

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"

	"github.com/go-json-experiment/json/jsontext"
)

// A Reading is a set of up to 252 values taken at one time. A name consists of letters,
// digits and _, and does not start with a digit. A value is a string of up to 64 KiB in
// UTF-16, a boolean, a number, a time.Time or bytes; nil is omitted.
type Reading struct {
	Time   time.Time // zero: now
	Values map[string]any
}

// longestKey stands in for the reading's future key in size checks.
var longestKey = schema.RowKey{Ticks: tables.MaxTicks, Suffix: strings.Repeat("x", 32)}.String()

// encode returns the JSON object of the row without its keys, or why storage would refuse it.
func (r Reading) encode(device schema.DeviceID) ([]byte, error) {
	e := tables.Entity{PartitionKey: string(device), RowKey: longestKey}
	for _, name := range slices.Sorted(maps.Keys(r.Values)) {
		v, err := valueOf(r.Values[name])
		if err != nil {
			return nil, fmt.Errorf("value %q: %w", name, err)
		}
		if v.Type() != tables.TypeNone {
			e.Properties = append(e.Properties, tables.Property{Name: name, Value: v})
		}
	}
	if len(e.Properties) == 0 {
		return nil, errors.New("it has no values")
	}
	if err := e.Check(); err != nil {
		return nil, err
	}
	b := []byte{'{'}
	for i, p := range e.Properties {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendProperty(b, p)
	}
	return append(b, '}'), nil
}

// valueOf maps each Go type to one storage type, so that a column's type does not depend on
// its values.
func valueOf(v any) (tables.Value, error) {
	switch v := v.(type) {
	case nil:
		return tables.Value{}, nil
	case string:
		return tables.String(v), nil
	case bool:
		return tables.Boolean(v), nil
	case float64:
		return double(v)
	case float32:
		return double(float64(v))
	case int:
		return tables.Int64(int64(v)), nil
	case int64:
		return tables.Int64(v), nil
	case int32:
		return tables.Int32(v), nil
	case int16:
		return tables.Int32(int32(v)), nil
	case int8:
		return tables.Int32(int32(v)), nil
	case uint8:
		return tables.Int32(int32(v)), nil
	case uint16:
		return tables.Int32(int32(v)), nil
	case uint32:
		return tables.Int64(int64(v)), nil
	case uint:
		return unsigned(uint64(v))
	case uint64:
		return unsigned(v)
	case time.Time:
		return tables.DateTime(tables.TicksOf(v)), nil
	case []byte:
		return tables.Binary(v), nil
	}
	return tables.Value{}, fmt.Errorf("a %T cannot be stored; use a string, a boolean, a number, a time.Time or bytes", v)
}

func double(f float64) (tables.Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return tables.Value{}, fmt.Errorf("%v is not a finite number", f)
	}
	return tables.Double(f), nil
}

func unsigned(u uint64) (tables.Value, error) {
	if u > math.MaxInt64 {
		return tables.Value{}, fmt.Errorf("%d is more than an Int64 holds", u)
	}
	return tables.Int64(int64(u)), nil
}

// appendProperty appends a valid property, with its type unless JSON implies it.
// learn.microsoft.com: "Payload format for Table service operations".
func appendProperty(b []byte, p tables.Property) []byte {
	switch p.Value.Type() {
	case tables.TypeString, tables.TypeBoolean, tables.TypeInt32:
	default:
		b = fmt.Appendf(b, `"%s@odata.type":"%s",`, p.Name, p.Value.Type())
	}
	b = fmt.Appendf(b, `"%s":`, p.Name)
	switch v := p.Value; v.Type() {
	case tables.TypeBoolean:
		return strconv.AppendBool(b, v.Boolean())
	case tables.TypeInt32:
		return strconv.AppendInt(b, v.Int(), 10)
	case tables.TypeInt64:
		return fmt.Appendf(b, `"%d"`, v.Int())
	case tables.TypeDouble:
		return fmt.Appendf(b, `%v`, v.Float())
	case tables.TypeDateTime:
		return v.Ticks().Time().AppendFormat(b, `"2006-01-02T15:04:05.0000000Z"`)
	case tables.TypeBinary:
		return fmt.Appendf(b, `"%s"`, base64.StdEncoding.EncodeToString(v.Binary()))
	default:
		b, _ = jsontext.AppendQuote(b, v.Text()) // fails only on invalid UTF-8
		return b
	}
}
