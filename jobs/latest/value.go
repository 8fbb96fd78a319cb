package latest

import (
	"encoding/json"
	"fmt"
	"strconv"

	"furrow/jobs/fold"
	"furrow/tables"

	"github.com/go-json-experiment/json/jsontext"
)

// A Value is a property of the table latest: the newest value of one sensor, and the time of its reading.
type Value struct {
	At tables.Ticks
	fold.SensorValue
}

// String returns a JSON array of the time, in ticks as text, and the value, a number or a text. A third element
// "doubtful" says that the quality was not good.
func (v Value) String() string {
	b := append([]byte(`["`), v.At.String()...)
	b = append(b, `",`...)
	if v.Is == fold.State {
		b, _ = jsontext.AppendQuote(b, v.State) // invalid UTF-8 is replaced
	} else {
		b = strconv.AppendFloat(b, v.Number, 'g', -1, 64)
	}
	if v.Doubtful {
		b = append(b, `,"doubtful"`...)
	}
	return string(append(b, ']'))
}

// ParseValue reads what String writes, for the sensor of that name.
func ParseValue(sensor, s string) (Value, error) {
	v := Value{SensorValue: fold.SensorValue{Sensor: sensor, Is: fold.Number}}
	var parts []any
	if err := json.Unmarshal([]byte(s), &parts); err != nil || len(parts) < 2 || len(parts) > 3 {
		return v, fmt.Errorf("latest value %q is not an array of a time and a value", s)
	}
	text, _ := parts[0].(string)
	at, err := tables.ParseTicks(text)
	if err != nil {
		return v, fmt.Errorf("latest value %q: %w", s, err)
	}
	v.At = at
	v.Doubtful = len(parts) == 3
	switch value := parts[1].(type) {
	case float64:
		v.Number = value
	case string:
		v.Is, v.State = fold.State, value
	default:
		return v, fmt.Errorf("latest value %q is neither a number nor a text", s)
	}
	return v, nil
}
