package factory

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"

	"furrow/cmd/internal/spell"
)

// csvRows are the lines of a file in CSV. A record is one line: a quote that is
// not closed then spoils that line, and not the rest of the file.
type csvRows struct {
	comma rune
	names []string // of the columns, in their order; empty where one means nothing
	text  strings.Reader
	in    *bufio.Reader // of text
}

// newCSV reads the header. Spreadsheets in much of Europe separate by semicolons.
func newCSV(f *File, header string) (*csvRows, error) {
	r := &csvRows{comma: ','}
	r.in = bufio.NewReader(&r.text)
	for _, comma := range ";\t" {
		if strings.Count(header, string(comma)) > strings.Count(header, string(r.comma)) {
			r.comma = comma
		}
	}
	names, err := r.split(header)
	if err != nil {
		return nil, fmt.Errorf("line %d, the header: %w", f.number, err)
	}
	seen := map[string]bool{}
	for _, name := range names {
		column := columnOf(name)
		if column == "" {
			f.unknownName(strings.TrimSpace(name))
		} else if seen[column] {
			return nil, fmt.Errorf("line %d, the header: column %q is there twice", f.number, column)
		}
		seen[column] = true
		r.names = append(r.names, column)
	}
	if !seen["id"] {
		return nil, noID(f.number, names)
	}
	return r, nil
}

func noID(line int, names []string) error {
	hint := ""
	if near := spell.Nearest("id", names); near != "" {
		hint = fmt.Sprintf("; should %q be called so?", near)
	}
	return fmt.Errorf("line %d, the header: there is no column id%s (the columns are %s and label.NAME, in any order)", line, hint, strings.Join(columns(), ", "))
}

func (r *csvRows) split(line string) ([]string, error) {
	r.text.Reset(line)
	r.in.Reset(&r.text)
	c := csv.NewReader(r.in)
	c.Comma, c.TrimLeadingSpace = r.comma, r.comma != '\t'
	fields, err := c.Read()
	if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
		if errors.Is(wrong.Err, csv.ErrQuote) || errors.Is(wrong.Err, csv.ErrBareQuote) {
			return nil, fmt.Errorf(`a quote at character %d is not closed or stands alone; a field with quotes is written "so ""quoted"" there"`, wrong.Column)
		}
		return nil, wrong.Err
	}
	return fields, err
}

func (r *csvRows) fields(line []byte) (map[string]string, error) {
	cells, err := r.split(string(line))
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for i, cell := range cells {
		if i < len(r.names) && r.names[i] != "" {
			fields[r.names[i]] = strings.TrimSpace(cell)
		}
	}
	if len(cells) != len(r.names) {
		return fields, fmt.Errorf("it has %d fields, and the header has %d", len(cells), len(r.names))
	}
	return fields, nil
}
