package readings

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"furrow/cmd/internal/tabular"
)

// A record is a line by the columns of its file: a float64, a bool, a text, or nil
// for an empty cell.
type record []any

func (r record) at(column int) any {
	if column < 0 || column >= len(r) {
		return nil
	}
	return r[column]
}

// typed returns the values of a line. An object or a list is its text, as devices write those to tables.
func typed(f *tabular.Reader, cells tabular.Record) record {
	r := make(record, len(cells))
	for i, cell := range cells {
		switch cell.Kind {
		case 0:
		case 't', 'f':
			r[i] = cell.Kind == 't'
		case '"':
			if r[i] = cell.Text; f.Format == tabular.CSV {
				r[i] = csvValue(cell.Text, f.Comma)
			}
		default:
			if n, ok := number(cell.Text); ok {
				r[i] = n
			} else {
				r[i] = cell.Text
			}
		}
	}
	return r
}

// csvValue is what a cell means. In files whose cells are separated by semicolons,
// numbers may have decimal commas.
func csvValue(cell string, comma rune) any {
	switch cell {
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	if n, ok := number(cell); ok {
		return n
	}
	if comma == ';' && strings.Count(cell, ",") == 1 {
		if n, ok := number(strings.Replace(cell, ",", ".", 1)); ok {
			return n
		}
	}
	return cell
}

// number parses a finite decimal number, without the forms that only Go has.
func number(text string) (float64, bool) {
	if text == "" || strings.Trim(text, "+-.0123456789eE") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsInf(n, 0)
}

// layouts returns the accepted forms of times, besides seconds, milliseconds, microseconds and
// nanoseconds since 1970. Times without a zone are UTC.
func layouts() []string {
	return []string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700",
		"2006-01-02 15:04:05 UTC",
		"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02", "2006/01/02 15:04:05", "2006/01/02 15:04", "20060102T150405Z",
		"2.1.2006 15:04:05", "2.1.2006 15:04", time.RFC1123, time.RFC1123Z,
	}
}

var slashed = regexp.MustCompile(`^\d{1,2}/\d{1,2}/\d{2,4}\b`)

func parseTime(v any) (time.Time, error) {
	switch v := v.(type) {
	case nil:
		return time.Time{}, errors.New("no time")
	case float64:
		return epoch(v)
	case string:
		return parseTimeText(v)
	}
	return time.Time{}, fmt.Errorf("%v is not a time", v)
}

func parseTimeText(text string) (time.Time, error) {
	if n, ok := number(text); ok {
		return epoch(n)
	}
	for _, layout := range layouts() {
		if t, err := time.Parse(layout, text); err == nil {
			return believable(t.UTC())
		}
	}
	if slashed.MatchString(text) {
		return time.Time{}, fmt.Errorf("%.40q may begin with the day or with the month; write 2026-11-21T14:00:00Z", text)
	}
	return time.Time{}, fmt.Errorf("%.40q is not a time; write 2026-11-21T14:00:00Z, or seconds since 1970", text)
}

// epoch returns a time since 1970, in a unit that follows from its size.
func epoch(n float64) (time.Time, error) {
	unit := 1.0
	for _, finer := range []float64{1e11, 1e14, 1e17} {
		if math.Abs(n) >= finer {
			unit *= 1000
		}
	}
	seconds := n / unit
	if math.Abs(seconds) > 1e12 {
		return time.Time{}, fmt.Errorf("%v is not a time since 1970", n)
	}
	whole, part := math.Modf(seconds)
	return believable(time.Unix(int64(whole), int64(math.Round(part*1e9))).UTC())
}

// believable refuses times that no row key can hold.
func believable(t time.Time) (time.Time, error) {
	if t.Year() < 1 || t.Year() > 9999 {
		return t, fmt.Errorf("the year %d is out of range; it must be between 1 and 9999", t.Year())
	}
	return t, nil
}
