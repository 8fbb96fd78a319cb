package rate

import (
	"encoding/json"
	"fmt"
	"strconv"

	"furrow/tables"
)

// A Change is a difference, and the same per hour.
type Change struct{ Difference, PerHour float64 }

// A Position is where a device was, in degrees.
type Position struct{ Lat, Lon float64 }

// A Latest is what a device's row of the table rates holds of one sensor.
type Latest struct {
	At       tables.Ticks // of the reading
	Value    float64
	Step     Change    // to the reading before
	Span     *Change   // over the span; nil where there is no reading before it
	Position *Position // nil where none is known
}

// String is a JSON array of the time, in ticks as text, the value, the difference
// and rate to the reading before, those over the span or two nulls, and then latitude and longitude if they are known.
func (l Latest) String() string {
	b := append(append([]byte(`["`), l.At.String()...), '"')
	b = appendNumbers(b, l.Value, l.Step.Difference, l.Step.PerHour)
	if l.Span != nil {
		b = appendNumbers(b, l.Span.Difference, l.Span.PerHour)
	} else {
		b = append(b, ",null,null"...)
	}
	if l.Position != nil {
		b = appendNumbers(b, l.Position.Lat, l.Position.Lon)
	}
	return string(append(b, ']'))
}

func appendNumbers(b []byte, all ...float64) []byte {
	for _, f := range all {
		b = strconv.AppendFloat(append(b, ','), f, 'g', -1, 64)
	}
	return b
}

// ParseLatest reads what Latest.String writes.
func ParseLatest(s string) (l Latest, err error) {
	var parts []json.RawMessage
	if err := json.Unmarshal([]byte(s), &parts); err != nil || len(parts) != 6 && len(parts) != 8 {
		return l, fmt.Errorf("rate %q is not an array of six or eight values", s)
	}
	var at string
	var numbers [7]*float64
	if err := json.Unmarshal(parts[0], &at); err != nil {
		return l, fmt.Errorf("rate %q: %w", s, err)
	}
	for i, part := range parts[1:] {
		if err := json.Unmarshal(part, &numbers[i]); err != nil {
			return l, fmt.Errorf("rate %q: %w", s, err)
		}
	}
	if numbers[0] == nil || numbers[1] == nil || numbers[2] == nil {
		return l, fmt.Errorf("rate %q has no value or no rate", s)
	}
	l.Value, l.Step = *numbers[0], Change{*numbers[1], *numbers[2]}
	if numbers[3] != nil && numbers[4] != nil {
		l.Span = &Change{*numbers[3], *numbers[4]}
	}
	if numbers[5] != nil && numbers[6] != nil {
		l.Position = &Position{*numbers[5], *numbers[6]}
	}
	l.At, err = tables.ParseTicks(at)
	return l, err
}

// A Tally is what a bucket of the series holds of one sensor.
type Tally struct {
	Count          int64   // differences to the reading before
	Difference     float64 // their sum
	Hours          float64 // that they cover
	Min, Max, Last float64 // rates per hour
}

// String is a JSON array of its fields.
func (t Tally) String() string {
	b := strconv.AppendInt([]byte{'['}, t.Count, 10)
	return string(append(appendNumbers(b, t.Difference, t.Hours, t.Min, t.Max, t.Last), ']'))
}

// ParseTally reads what Tally.String writes.
func ParseTally(s string) (Tally, error) {
	var n []float64
	if err := json.Unmarshal([]byte(s), &n); err != nil || len(n) != 6 {
		return Tally{}, fmt.Errorf("rate %q is not an array of six numbers", s)
	}
	return Tally{int64(n[0]), n[1], n[2], n[3], n[4], n[5]}, nil
}
