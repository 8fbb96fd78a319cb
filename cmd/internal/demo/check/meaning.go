package check

import (
	"encoding/json"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"furrow/tables"
	"furrow/tables/schema"
)

// Values beyond these bounds are rejected.
const (
	mostNesting  = 8
	mostName     = 200 // bytes
	mostText     = 256
	mostValues   = 1000                // of a reading
	mostAge      = 30 * 24 * time.Hour // of a value of latest, before the newest of its device
	ticksOfAKey  = 19
	keyDelimiter = '-'
	ackProperty  = "_ack" // acknowledges a command, and is no sensor
)

// A value is a number or a text that a sensor has sent.
type value struct {
	number   float64
	text     string
	isNumber bool
}

func (v value) String() string {
	if v.isNumber {
		return numberText(v.number)
	}
	return strconv.Quote(v.text)
}

func numberText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// meaning returns the values of a row by sensor, and whether something in it is to be rejected.
func meaning(e tables.Entity) (values map[string]value, rejected bool) {
	if !isReadingKey(e.RowKey) {
		return nil, true
	}
	values = map[string]value{}
	left := mostValues
	for _, p := range e.Properties {
		if p.Name == ackProperty {
			continue
		}
		found := leaves(p, &rejected)
		if left -= len(found); left < 0 {
			left += len(found)
			rejected = true
			continue
		}
		for name, v := range found {
			v, is, wrong := understood(v)
			switch {
			case wrong, len(name) > mostName, isReserved(name):
				rejected = true
			case is:
				values[name] = v
			}
		}
	}
	return values, rejected
}

// isReserved tells whether a property of an output belongs to no sensor.
func isReserved(name string) bool {
	return name == "_fence" || name == "_parts" || name == "_heard" || name == "_readings" || name == schema.FormatProperty
}

// isReadingKey tells whether a row key is 19 digits, or those and a suffix.
func isReadingKey(key string) bool {
	if len(key) < ticksOfAKey || strings.Trim(key[:ticksOfAKey], "0123456789") != "" {
		return false
	}
	return len(key) == ticksOfAKey || key[ticksOfAKey] == keyDelimiter && len(key) > ticksOfAKey+1
}

// leaves returns the values of a property by sensor. A text that is a JSON object or array has several.
func leaves(p tables.Property, rejected *bool) map[string]tables.Value {
	whole := map[string]tables.Value{p.Name: p.Value}
	text := p.Value.Text()
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return whole
	}
	var nested any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&nested) != nil {
		return whole
	}
	if _, err := d.Token(); err != io.EOF {
		return whole
	}
	found := map[string]tables.Value{}
	if !unfold(nested, p.Name, 0, found) {
		*rejected = true
		return nil
	}
	return found
}

// unfold collects the leaves of a JSON value. It returns false if they are nested too deep.
func unfold(v any, name string, depth int, into map[string]tables.Value) bool {
	ok := depth <= mostNesting
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			ok = ok && unfold(inner, name+"_"+strings.Map(letterOrDigit, key), depth+1, into)
		}
	case []any:
		for i, inner := range v {
			ok = ok && unfold(inner, name+"_"+strconv.Itoa(i), depth+1, into)
		}
	case string:
		into[name] = tables.String(v)
	case json.Number:
		into[name] = tables.String(v.String())
	case bool:
		into[name] = tables.Boolean(v)
	}
	return ok
}

func letterOrDigit(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsDigit(r) {
		return r
	}
	return '_'
}

var (
	// A text with a leading zero is an identifier.
	decimal  = regexp.MustCompile(`^[+-]?((0|[1-9]\d*)\.?\d*|\.\d+)([eE][+-]?\d+)?$`)
	infinite = regexp.MustCompile(`(?i)^(nan|[+-]?inf|[+-]?infinity)$`)
)

// understood converts a property's value. One without is is no measurement, and a wrong one is rejected.
func understood(v tables.Value) (meant value, is, wrong bool) {
	switch v.Type() {
	case tables.TypeBinary:
		return value{}, false, false
	case tables.TypeBoolean:
		return value{isNumber: true, number: map[bool]float64{true: 1}[v.Boolean()]}, true, false
	case tables.TypeInt32, tables.TypeInt64:
		return value{isNumber: true, number: float64(v.Int())}, true, false
	case tables.TypeDouble:
		f := v.Float()
		return value{isNumber: true, number: f}, true, math.IsNaN(f) || math.IsInf(f, 0)
	}
	text := strings.TrimSpace(v.String())
	if v.Type() == tables.TypeString && infinite.MatchString(text) {
		return value{}, false, true
	}
	if v.Type() == tables.TypeString && decimal.MatchString(text) {
		if f, err := strconv.ParseFloat(text, 64); err == nil { // otherwise it is beyond what a double holds
			return value{isNumber: true, number: f}, true, false
		}
	}
	return value{text: v.String()}, true, len(v.String()) > mostText
}
