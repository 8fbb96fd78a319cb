package replay

import (
	"math"
	"strconv"
	"strings"

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
