package replay

import (
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A record is a line by the columns of its file: a float64, a bool, a text, or nil
// where it says nothing.
type record []any

func (r record) at(column int) any {
	if column < 0 || column >= len(r) {
		return nil
	}
	return r[column]
}

// A form is how the lines of a file are written.
type form interface {
	columns() []string // so far
	read(line []byte) (record, error)
}

// csvForm has a header. A record is one line: a quote that is not closed then spoils
// that line, and not the rest of the file.
type csvForm struct {
	comma rune
	names []string
}

// newCSV reads the header. Spreadsheets in much of Europe separate by semicolons.
func newCSV(header string) (*csvForm, error) {
	f := &csvForm{comma: ','}
	for _, comma := range ";\t" {
		if strings.Count(header, string(comma)) > strings.Count(header, string(f.comma)) {
			f.comma = comma
		}
	}
	var err error
	f.names, err = f.split(header)
	for i, name := range f.names {
		if f.names[i] = strings.TrimSpace(name); slices.Contains(f.names[:i], f.names[i]) {
			return nil, fmt.Errorf("column %q is there twice", f.names[i])
		}
	}
	return f, err
}

func (f *csvForm) columns() []string { return f.names }

func (f *csvForm) split(line string) ([]string, error) {
	c := csv.NewReader(strings.NewReader(line))
	c.Comma, c.TrimLeadingSpace = f.comma, f.comma != '\t'
	fields, err := c.Read()
	if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
		return nil, fmt.Errorf("a quote at character %d is not closed, or stands alone", wrong.Column)
	}
	return fields, err
}

func (f *csvForm) read(line []byte) (record, error) {
	var cells []string
	var err error
	if text := string(line); strings.Contains(text, `"`) {
		cells, err = f.split(text)
	} else {
		cells = strings.Split(text, string(f.comma))
	}
	if err != nil {
		return nil, err
	}
	if len(cells) != len(f.names) {
		return nil, fmt.Errorf("it has %d fields, and the header has %d", len(cells), len(f.names))
	}
	r := make(record, len(cells))
	for i, cell := range cells {
		r[i] = f.value(strings.TrimSpace(cell))
	}
	return r, nil
}

// value is what a cell means. Where semicolons separate fields, a comma may be in
// numbers.
func (f *csvForm) value(cell string) any {
	switch cell {
	case "":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	if n, ok := number(cell); ok {
		return n
	}
	if f.comma == ';' && strings.Count(cell, ",") == 1 {
		if n, ok := number(strings.Replace(cell, ",", ".", 1)); ok {
			return n
		}
	}
	return cell
}

// number reads a finite decimal number, and none of the forms that only Go has.
func number(text string) (float64, bool) {
	if text == "" || strings.Trim(text, "+-.0123456789eE") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsInf(n, 0)
}

// jsonForm has an object a line. Columns are added as they come.
type jsonForm struct {
	names []string
	index map[string]int
}

func (f *jsonForm) columns() []string { return f.names }

func (f *jsonForm) read(line []byte) (record, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, errors.New("it is no JSON object")
	}
	if members == nil {
		return nil, errors.New("it is null, and no JSON object")
	}
	r := make(record, len(f.names), len(f.names)+len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		i, known := f.index[name]
		if !known {
			if len(f.names) == maxColumns {
				return nil, fmt.Errorf("with %q the file has more than %d columns", name, maxColumns)
			}
			i = len(f.names)
			f.names, f.index[name], r = append(f.names, name), i, append(r, nil)
		}
		r[i] = scalar(members[name])
	}
	return r, nil
}

// maxColumns is how many different members objects may have.
const maxColumns = 1000

// scalar is a value; of an object or a list, its text, as devices put those into
// tables.
func scalar(v jsontext.Value) any {
	switch v.Kind() {
	case 'n':
		return nil
	case 't', 'f':
		return v.Kind() == 't'
	case '"':
		var text string
		if json.Unmarshal(v, &text) != nil || text == "" {
			return nil
		}
		return text
	case '0':
		if n, ok := number(string(v)); ok {
			return n
		}
	}
	return string(v)
}
