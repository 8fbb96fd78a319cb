// Package records writes records as a table, as CSV or as lines of JSON, as they come.
package records

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"furrow/tables"
)

func (m Moment) String() string {
	if m == 0 {
		return ""
	}
	return tables.Ticks(m).Time().Format("2006-01-02T15:04:05.0000000Z")
}

func (s Second) String() string { return tables.Ticks(s).Time().Format(time.RFC3339) }

// cellText formats a cell, and tells whether it is a text and not a number, a boolean or a time.
func cellText(cell any) (text string, isText bool) {
	switch c := cell.(type) {
	case string:
		return c, true
	case float64:
		return number(c), false
	case tables.Value:
		return cellText(JSON(c))
	}
	return fmt.Sprint(cell), false
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
	return number(f)
}

// number formats a double with the fewest digits that parse to the same double. As in JSON and spreadsheets, only very
// large and very small numbers have an exponent.
func number(f float64) string {
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

// A Record is a part of an answer, such as a reading or a device. Its zero value knows the columns.
type Record interface {
	Columns() []string
	// Lines returns its lines in a table or in CSV. A cell is a string, a number, a
	// boolean, a tables.Value, a Moment or a Second.
	Lines() [][]any
	// Object returns the value for a line of JSON.
	Object() any
}

// A Moment is a time to 100 ns, a Second one without a fraction. All times of a column have the same number of digits,
// as readers of CSV expect. A zero Moment is no time.
type (
	Moment tables.Ticks
	Second tables.Ticks
)
