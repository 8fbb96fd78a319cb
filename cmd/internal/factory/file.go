package factory

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"furrow/cmd/internal/setup"
	"furrow/cmd/internal/tabular"
	"furrow/sas"
)

// A Line is one line of a file.
type Line struct {
	Number   int // from 1
	ID       string
	Delivery sas.Delivery
	Wrong    error // why the line is invalid; the other fields may then be missing
}

// A File is being read. Make one with Open.
type File struct {
	in      *tabular.Reader
	columns []string // what the columns of in mean, as far as they are known; empty for unknown ones
	unknown []string
}

// Open begins to read a file, and of CSV its header.
func Open(r io.Reader, format tabular.Format) (f *File, err error) {
	f = &File{}
	if f.in, err = tabular.Open(r, tabular.Options{Format: format}); err != nil {
		return nil, fmt.Errorf("%w; want a header with the names of columns, such as id,site,lat,lon, and a device on each "+
			"line", err)
	}
	if format == tabular.JSONL {
		return f, nil
	}
	f.learn()
	for i, column := range f.columns {
		if column != "" && slices.Contains(f.columns[:i], column) {
			return nil, fmt.Errorf("line %d, the header: column %q occurs twice", f.in.Line, column)
		}
	}
	if !slices.Contains(f.columns, "id") {
		return nil, noID(f.in)
	}
	return f, nil
}

func noID(in *tabular.Reader) error {
	hint := ""
	if near := setup.Nearest("id", in.Names); near != "" {
		hint = fmt.Sprintf("; should %q be called id?", near)
	}
	return fmt.Errorf("line %d, the header: there is no column id%s (the columns are %s and label.NAME, in any order)",
		in.Line, hint, strings.Join(columns(), ", "))
}

// mostUnknown bounds how many unknown names are kept: a file of another kind has any number.
const mostUnknown = 20

// learn finds out what columns mean that have been read.
func (f *File) learn() {
	for _, name := range f.in.Names[len(f.columns):] {
		column := columnOf(name)
		f.columns = append(f.columns, column)
		if column == "" && len(f.unknown) < mostUnknown {
			f.unknown = append(f.unknown, name)
		}
	}
}

// Unknown returns the names of columns, or of members so far, that are ignored.
func (f *File) Unknown() []string { return f.unknown }

// Lines reads the lines that are not empty. An error ends them: the file cannot be read.
func (f *File) Lines() iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for {
			record, err := f.in.Next()
			_, wrong := errors.AsType[*tabular.LineError](err)
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil && !wrong:
				yield(Line{}, err)
				return
			}
			if !yield(f.line(record, err), nil) {
				return
			}
		}
	}
}

func (f *File) line(r tabular.Record, wrong error) Line {
	f.learn()
	fields, err := f.fields(r)
	l := Line{Number: f.in.Line, ID: fields["id"], Wrong: wrong}
	if l.Wrong == nil {
		l.Wrong = err
	}
	if l.Wrong == nil {
		l.Delivery, l.Wrong = delivery(fields)
	}
	return l
}

// fields returns the texts of a record by the names of columns.
func (f *File) fields(r tabular.Record) (map[string]string, error) {
	fields := map[string]string{}
	for i, cell := range r {
		if i >= len(f.columns) || f.columns[i] == "" || cell.IsBlank() {
			continue
		}
		column := f.columns[i]
		if _, twice := fields[column]; twice {
			return fields, fmt.Errorf("%s occurs twice", column)
		}
		if cell.Kind == '[' || cell.Kind == '{' && column != "labels" {
			return fields, fmt.Errorf("%s is neither a text nor a number", column)
		}
		fields[column] = strings.TrimSpace(cell.Text)
	}
	return fields, nil
}

// labelPrefix begins the name of a column that holds one label.
const labelPrefix = "label."

// columnOf returns the column that a name means, or an empty text.
func columnOf(name string) string {
	name = strings.TrimSpace(name)
	if prefix, label, ok := strings.Cut(name, "."); ok && strings.EqualFold(prefix, "label") && label != "" {
		return labelPrefix + label
	}
	for _, column := range columns() {
		if strings.EqualFold(name, column) {
			return column
		}
	}
	return ""
}

// columns returns the known ones, besides those of single labels.
func columns() []string {
	return []string{"id", "tenant", "site", "lat", "lon", "labels", "model", "deployed"}
}
