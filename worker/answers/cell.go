package answers

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Forms of times.
const (
	exactTime       = "2006-01-02T15:04:05.0000000Z"
	exactForPeople  = "2006-01-02 15:04:05.9999999"
	secondForPeople = time.DateTime
)

// csv returns a cell as CSV has it, empty where it has no value. Texts are not yet made harmless.
func (c *cell) csv() string {
	switch {
	case !c.has:
		return ""
	case c.kind == number:
		return Number(c.number)
	case c.kind == count:
		return strconv.FormatInt(c.count, 10)
	case c.kind == moment && c.exact:
		return exactly(c.time)
	case c.kind == moment:
		return c.time.UTC().Format(time.RFC3339)
	case c.kind == flag, c.kind == truth:
		return strconv.FormatBool(c.count != 0)
	case c.kind == labels:
		text, _ := Marshal(c.labels) // texts can always be encoded
		return string(text)
	}
	return c.text
}

// exactly returns a time as exactTime has it. Format knows RFC 3339 by heart, and takes three times as long for others.
func exactly(t time.Time) string {
	const second = len("2006-01-02T15:04:05")
	var b [len(exactTime)]byte
	text := t.UTC().AppendFormat(b[:0], time.RFC3339)
	if len(text) != second+1 { // a year that does not have four digits
		return t.UTC().Format(exactTime)
	}
	rest := t.Nanosecond() / 100
	for i := len(b) - 2; i > second; i-- {
		b[i], rest = '0'+byte(rest%10), rest/10
	}
	b[second], b[len(b)-1] = '.', 'Z'
	return string(b[:])
}

// forPeople returns a cell as a table shows it, and whether it is aligned to the right.
func (c *cell) forPeople() (text string, right bool) {
	switch {
	case !c.has:
		return "", false
	case c.kind == number:
		return sixDigits(c.number), true
	case c.kind == moment && c.exact:
		return c.time.UTC().Format(exactForPeople), false
	case c.kind == moment:
		return c.time.UTC().Format(secondForPeople), false
	case c.kind == flag:
		return map[bool]string{true: "yes"}[c.count != 0], false
	case c.kind == labels:
		return shortened(LabelsText(c.labels)), false
	}
	return shortened(c.csv()), c.kind == count
}

// LabelsText formats labels as name=text in the order of the names.
func LabelsText(labels map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, name+"="+labels[name])
	}
	return strings.Join(parts, ", ")
}

// sixDigits formats a double for people, with at most six digits, or all of those before the decimal point.
func sixDigits(f float64) string {
	abs := math.Abs(f)
	if abs >= 1e6 && abs < 1e15 {
		f = math.Round(f)
	} else if rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 6, 64), 64); err == nil {
		f = rounded
	}
	if abs = math.Abs(f); abs >= 1e15 && !math.IsInf(f, 0) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return Number(f)
}

// Number formats a double with the fewest digits that parse to the same double. As in JSON and spreadsheets, only very
// large and very small numbers have an exponent.
func Number(f float64) string {
	switch abs := math.Abs(f); {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return map[bool]string{true: "Infinity", false: "-Infinity"}[f > 0]
	case abs != 0 && (abs < 1e-6 || abs >= 1e21):
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
