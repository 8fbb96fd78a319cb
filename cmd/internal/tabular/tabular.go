// Package tabular reads files of records: CSV, JSON, line protocol and Parquet. The text formats may be compressed and
// in another encoding than UTF-8. A line that is not valid is an error of its own, and the lines after it are read.
package tabular

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Format is how a file is written.
type Format string

const (
	CSV   Format = "csv"   // with a header
	JSONL Format = "jsonl" // one object a line, an array of objects, or objects one after another

	// Nobody has to name the others: their first bytes tell.
	Lines   Format = "line protocol"
	Parquet Format = "parquet"
	Arrow   Format = "arrow" // a stream of Arrow's IPC
)

// Formats returns the formats that a flag may name.
func Formats() []string { return []string{string(CSV), string(JSONL)} }

// MaxLine is the maximum length of a record in bytes. It bounds the memory that a file takes.
const MaxLine = 1 << 20

// MaxColumns is the maximum number of different members that the objects of a file may have.
const MaxColumns = 1000

// Options say what is known of a file. The zero value has everything found out.
type Options struct {
	Format    Format
	Encoding  string   // name of an encoding; empty: UTF-8, or what a byte order mark says
	Separator rune     // between the cells of CSV
	Skip      int      // lines before the header, or before the data if Header is set
	Header    []string // names of columns of a CSV file without a header
	Readings  bool     // every line has a time: refuse a header that looks like data, and bytes that are not UTF-8
}

// A Cell is the value of a column. In CSV, Text has no outer spaces. In JSON, it is the text of a string, or the JSON
// of any other value. Kind is that of the JSON value, '"' for CSV, and 0 for an empty value and for null.
type Cell struct {
	Text string
	Kind jsontext.Kind
}

// IsBlank reports whether there is no value, or a text without characters: that is a value of a sensor of texts alone.
func (c Cell) IsBlank() bool { return c.Kind == 0 || c.Kind == '"' && strings.TrimSpace(c.Text) == "" }

// A Record holds the cells of a line in the order of [Reader.Names]. It may be shorter.
type Record []Cell

// A LineError says why a line is not a record. The next line can be read.
type LineError struct{ error }

// Unwrap returns the reason.
func (e *LineError) Unwrap() error { return e.error }

// NewLineError is for readers that find a record invalid.
func NewLineError(err error) *LineError { return &LineError{err} }

// An UnclearError says what a file does not tell, and which flag does.
type UnclearError struct {
	What    string
	Flag    string   // that decides
	Choices []Choice // values that the flag may have
}

// A Choice is a value of a flag, and what it would mean.
type Choice struct{ Value, Means string }

func (e *UnclearError) Error() string {
	text := e.What + ": decide with --" + e.Flag
	for i, c := range e.Choices {
		join := map[bool]string{true: "", false: " or"}[i == 0]
		text += fmt.Sprintf("%s %q", join, c.Value)
		if c.Means != "" {
			text += " (" + c.Means + ")"
		}
	}
	return text
}

// A Reader reads a file. Make one with [Open].
type Reader struct {
	Format   Format
	Encoding string   // of text, as people name it
	Comma    rune     // between the cells of CSV
	Line     int      // number of the line that was read last, from 1; of Parquet and of arrays that of the row
	Names    []string // of the columns; JSON adds them as they occur
	Notes    []string // what is odd about the file
	Types    []string // of the columns of Parquet
	Series   string   // what a file of Furrow's archive says of its columns

	options Options
	lines   *lines
	records interface{ next() (Record, error) }
	index   map[string]int // of a member in Names
	close   func() error
}

// Open begins to read a file, and reads the header of CSV. Without a format, the first bytes tell.
func Open(r io.Reader, o Options) (*Reader, error) {
	f := &Reader{Format: o.Format, options: o, index: map[string]int{}, close: func() error { return nil }}
	in := bufio.NewReaderSize(r, 64<<10)
	if magic, _ := in.Peek(len(parquetMagic)); string(magic) == parquetMagic {
		return f, f.openParquet(r)
	}
	if magic, _ := in.Peek(len(arrowMagic)); string(magic) == arrowMagic {
		return f, f.openArrow(in)
	}
	in, err := plain(in)
	if err != nil {
		return nil, err
	}
	if in, f.Encoding, err = decoded(in, o.Encoding); err != nil {
		return nil, err
	}
	if start := startOf(in); f.Format == "" && start != notJSON {
		if f.Format = JSONL; start != oneLine {
			f.records = newObjects(f, in)
			return f, nil
		}
	}
	f.lines = newLines(in, o.Readings && f.Encoding == utf8Name)
	for range o.Skip {
		if _, err := f.lines.next(); err != nil {
			return nil, fmt.Errorf("the file has fewer than %d lines to skip", o.Skip)
		}
	}
	return f, f.openText()
}

// openText finds out the format of lines.
func (f *Reader) openText() error {
	if f.Format == JSONL {
		f.records = &objectLines{f}
		return nil
	}
	start, err := f.lines.peek(0)
	if err == io.EOF {
		err = errors.New("the file is empty")
	}
	switch {
	case err != nil && !errors.Is(err, errLong):
		return err
	case f.Format == "" && len(f.options.Header) == 0 && isLineProtocol(start.text):
		f.Format, f.records = Lines, &protocol{f}
	default:
		f.Format = CSV
		f.records, err = newTable(f)
	}
	return err
}

// Close frees what the reader holds beside the file.
func (f *Reader) Close() error { return f.close() }

// Next reads the next record. It returns io.EOF at the end of the file, and a [*LineError] for an invalid line.
func (f *Reader) Next() (Record, error) { return f.records.next() }

// column returns the index of a column, which is added if it is new.
func (f *Reader) column(name string) (int, error) {
	i, known := f.index[name]
	if !known {
		if len(f.Names) == MaxColumns {
			return 0, &LineError{fmt.Errorf("with %q the file has more than %d columns", name, MaxColumns)}
		}
		i = len(f.Names)
		f.Names, f.index[name] = append(f.Names, name), i
	}
	return i, nil
}

// set sets the cell of a column by its name.
func (f *Reader) set(r Record, name string, c Cell) (Record, error) {
	i, err := f.column(name)
	if err != nil {
		return r, err
	}
	for len(r) <= i {
		r = append(r, Cell{})
	}
	r[i] = c
	return r, nil
}

// CellOf returns a JSON value as a cell.
func CellOf(v jsontext.Value) Cell {
	switch v.Kind() {
	case 'n':
		return Cell{}
	case '"':
		var text string
		_ = json.Unmarshal(v, &text) // it is a text
		return Cell{text, '"'}
	}
	return Cell{string(v), v.Kind()}
}

// PlainError returns the text of an error of the JSON package without the name of the package.
func PlainError(err error) string {
	text := err.Error()
	for _, prefix := range []string{"json: ", "jsontext: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}
