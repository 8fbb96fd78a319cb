package answers

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// BySensor has something of each of some sensors, in the order of their names. In JSON it is an object. A map would do,
// but reading one and sorting its keys takes longer than all else of a line.
type BySensor[V any] []OfSensor[V]

// OfSensor is what a BySensor has of a sensor.
type OfSensor[V any] struct {
	Sensor string
	Value  V
}

// ValueType returns the type of what it has of a sensor.
func (BySensor[V]) ValueType() reflect.Type { return reflect.TypeFor[V]() }

// set adds what it has of a sensor, or replaces it.
func (s *BySensor[V]) set(sensor string, v V) {
	if n := len(*s); n == 0 || (*s)[n-1].Sensor < sensor { // as most come
		*s = append(*s, OfSensor[V]{sensor, v})
		return
	}
	at, found := slices.BinarySearchFunc(*s, sensor, func(o OfSensor[V], sensor string) int {
		return cmp.Compare(o.Sensor, sensor)
	})
	if found {
		(*s)[at].Value = v
		return
	}
	*s = slices.Insert(*s, at, OfSensor[V]{sensor, v})
}

// Map returns the same as a map.
func (s BySensor[V]) Map() map[string]V {
	m := make(map[string]V, len(s))
	for _, o := range s {
		m[o.Sensor] = o.Value
	}
	return m
}

// MarshalJSONTo writes an object. Tokens are spared the search for an encoder.
func (s BySensor[V]) MarshalJSONTo(out *jsontext.Encoder) error {
	if err := out.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for i := range s {
		if err := out.WriteToken(jsontext.String(s[i].Sensor)); err != nil {
			return err
		}
		if err := marshalTo(out, &s[i].Value); err != nil {
			return err
		}
	}
	return out.WriteToken(jsontext.EndObject)
}

func marshalTo[V any](out *jsontext.Encoder, v *V) error {
	var value any = v
	if boxed, is := value.(*any); is {
		switch v := (*boxed).(type) {
		case float64:
			return out.WriteToken(jsontext.Float(v))
		case string:
			return out.WriteToken(jsontext.String(v))
		}
	}
	switch v := value.(type) {
	case *string:
		return out.WriteToken(jsontext.String(*v))
	case *bool:
		return out.WriteToken(jsontext.Bool(*v))
	}
	return json.MarshalEncode(out, v)
}

// UnmarshalJSON reads an object.
func (s *BySensor[V]) UnmarshalJSON(text []byte) error {
	var m map[string]V
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	for sensor, v := range m {
		s.set(sensor, v)
	}
	return nil
}
