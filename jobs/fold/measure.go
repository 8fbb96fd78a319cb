package fold

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"furrow/tables"
)

const (
	reasonReserved = "its name is one that outputs have for themselves"
	reasonNoFinite = "it is not finite"
	reasonNoNumber = "it is no number"
	reasonMet      = "several values of its row have this name, and they differ"
)

var (
	reasonLongName = fmt.Sprintf("its name has more than %d bytes", maxSensorName)
	reasonLongText = fmt.Sprintf("it is a text of more than %d bytes", maxState)
	reasonNoRoom   = fmt.Sprintf("the names and texts of its row take more than %d KiB", MaxRoom>>10)
)

// checkName says why outputs cannot have a sensor of that name, although storage accepted a property with it.
func checkName(sensor string) (reason string) {
	switch {
	case len(sensor) > maxSensorName:
		return reasonLongName
	case IsReserved(sensor):
		return reasonReserved
	}
	if err := tables.CheckName(sensor); err != nil {
		return err.Error()
	}
	return ""
}

// measure reads a value as its property's meaning demands, or says why it cannot.
func measure(means Meaning, v tables.Value) (m SensorValue, reason string) {
	m = SensorValue{Sensor: means.As, Is: State}
	if means.Is == State {
		return m.text(v)
	}
	number, is := numberOf(v, means.Is == Number)
	if is {
		number = means.scaled(number)
	}
	switch {
	case is && (math.IsNaN(number) || math.IsInf(number, 0)):
		return m, reasonNoFinite
	case is:
		m.Is, m.Number = Number, number
		return m, ""
	case means.Is == Number:
		return m, reasonNoNumber
	case v.Type() == tables.TypeBinary:
		m.Is = Ignored // bytes are not measurements; the archive keeps them
		return m, ""
	}
	return m.text(v)
}

// exactly replaces what all has of the sensor of m by v, if m holds less than v.
func exactly(all []ExactValue, m SensorValue, v tables.Value) []ExactValue {
	all = slices.DeleteFunc(all, func(x ExactValue) bool { return x.Sensor == m.Sensor })
	isBytes := v.Type() == tables.TypeBinary && m.Is == Ignored
	isLong := v.Type() == tables.TypeInt64 && m.Is == Number && m.Number == float64(v.Int()) && !isDouble(v.Int())
	if !isBytes && !isLong {
		return all
	}
	return append(all, ExactValue{m.Sensor, v})
}

// isDouble reports whether a double equals n.
func isDouble(n int64) bool {
	f := float64(n)
	return f < 1<<63 && int64(f) == n
}

// text returns m as a state.
func (m SensorValue) text(v tables.Value) (SensorValue, string) {
	m.State = strings.ToValidUTF8(v.String(), "\uFFFD")
	if len(m.State) > maxState {
		return m, reasonLongText
	}
	return m, ""
}

// numberOf returns the number that v means: many devices send "78.8" or true. Some texts only look like numbers: a
// leading zero (00981150), or a number that is too large (7894e80000058754), makes it an identifier, unless the sensor
// is known to be a number.
func numberOf(v tables.Value, known bool) (float64, bool) {
	switch v.Type() {
	case tables.TypeInt32, tables.TypeInt64, tables.TypeDouble:
		return v.Float(), true
	case tables.TypeBoolean:
		if v.Boolean() {
			return 1, true
		}
		return 0, true
	case tables.TypeString:
		text := strings.TrimSpace(v.Text())
		if text == "" || strings.ContainsAny(text, "xX_pP") || !known && hasLeadingZero(text) { // forms that only Go reads
			return 0, false
		}
		f, err := strconv.ParseFloat(text, 64)
		return f, err == nil || known && math.IsInf(f, 0) // beyond what a double holds it is not finite
	}
	return 0, false
}

// hasLeadingZero reports whether a numeric text begins with a zero that a number would not have.
func hasLeadingZero(text string) bool {
	text = strings.TrimLeft(text, "+-")
	return len(text) > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9'
}
