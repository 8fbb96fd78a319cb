package device

import (
	"fmt"
	"math"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Reading is a document with up to 252 values, taken at one time. A value is a string of up to 64 KiB in UTF-16, a
// boolean, a number, a time.Time or bytes; nil is omitted.
//
// A value can also be a map with strings as keys, an array or a slice, nested up to 8 deep, as JSON is decoded.
// Storage refuses those, so the path to a value is its name, joined with _:
//
//	{"data": {"oilTemp": 118.9, "lids": [0, 1]}, "tenant-id": "t1"}
//
// has the values data_oilTemp, data_lids_0, data_lids_1 and tenant_id. In names, each character that is no letter,
// digit or _ becomes _. A name that would begin with a digit gets a _ before it. PartitionKey, RowKey and Timestamp,
// which belong to storage, get one at the end. Two values with one name are an error.
type Reading struct {
	Time   time.Time // zero: now
	Values map[string]any
}

// longestKey stands in for the reading's future key in checks.
var longestKey = schema.RowKey{Ticks: tables.MaxTicks, Suffix: strings.Repeat("x", 32)}.String()

// row returns the reading's row without its row key, or why storage would refuse it.
func (r Reading) row(device schema.DeviceID) (e tables.Entity, err error) {
	if e.Properties, err = flatten(r.Values); err != nil {
		return e, err
	}
	e.PartitionKey, e.RowKey = string(device), longestKey
	if n := e.Size(); n > tables.MaxEntity {
		return e, fmt.Errorf("it takes %d bytes, and a row at most %d: send it as several readings", n, tables.MaxEntity)
	}
	err = e.Check()
	e.RowKey = ""
	return e, err
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
	return tables.Value{}, fmt.Errorf("a %T cannot be stored; use a string, a boolean, a number, a time.Time, bytes, "+
		"or a map or slice of them", v)
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
