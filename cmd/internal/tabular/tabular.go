// Package tabular reads files of records: CSV with a header, or JSON objects line by line, compressed with
// gzip or not, and Parquet. A line that is not valid is an error of its own, and the lines after it are read.
package tabular

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Format is how a file is written.
type Format string

const (
	CSV   Format = "csv"   // with a header; a record is one line
	JSONL Format = "jsonl" // one object a line

	// Parquet is recognized by the first bytes of a file, so nobody has to name it.
	Parquet Format = "parquet"
)

// Formats returns the formats that a flag may name.
func Formats() []string { return []string{string(CSV), string(JSONL)} }

// MaxLine is the maximum length of a line in bytes. It bounds the memory that a file takes.
const MaxLine = 1 << 20

// MaxColumns is the maximum number of different members that the objects of a file may have.
const MaxColumns = 1000

// A Cell is the value of a column. In CSV, Text has no outer spaces. In JSON, it is the text of a string, or the JSON
// of any other value. Kind is that of the JSON value, '"' for CSV, and 0 for an empty value and for null.
type Cell struct {
	Text string
	Kind jsontext.Kind
}

// A Record holds the cells of a line in the order of [Reader.Columns]. It may be shorter.
type Record []Cell

// A LineError says why a line is not a record. The next line can be read.
type LineError struct{ error }

// NewLineError is for readers that find a record invalid.
func NewLineError(err error) *LineError { return &LineError{err} }

// A Reader reads a file. Make one with [Open].
type Reader struct {
	Format Format
	Comma  rune     // between the cells of CSV: a comma, a semicolon or a tab
	Line   int      // number of the line that was read last, from 1; of Parquet that of the row
	Names  []string // of the columns; JSON adds them as they occur

	in    *bufio.Reader
	ahead []byte         // a line that Open has read to find out the format
	index map[string]int // of a JSON member in Names

	parquet *parquetReader // nil for the other formats
}

// Open begins to read a file, and reads the header of CSV. Without a format, a file that begins with { is JSON.
func Open(r io.Reader, format Format) (*Reader, error) {
	f := &Reader{Format: format, in: bufio.NewReaderSize(r, 64<<10), index: map[string]int{}}
	if magic, _ := f.in.Peek(len(parquetMagic)); string(magic) == parquetMagic {
		if file, seekable := r.(*os.File); seekable && isRegular(file) {
			return f, f.openParquet(file)
		}
		return f, f.openParquet(f.in)
	}
	if magic, _ := f.in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(f.in)
		if err != nil {
			return nil, err
		}
		f.in = bufio.NewReaderSize(z, 64<<10)
	}
	if mark, _ := f.in.Peek(3); string(mark) == "\ufeff" { // Excel writes this byte order mark
		_, _ = f.in.Discard(3) // peeked at before
	}
	if format == JSONL {
		return f, nil
	}
	line, err := f.next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty")
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", f.Line, err)
	case format == "" && line[0] == '{':
		f.Format, f.ahead = JSONL, line
		return f, nil
	}
	f.Format = CSV
	if err := f.header(string(line)); err != nil {
		return nil, fmt.Errorf("line %d, the header: %w", f.Line, err)
	}
	return f, nil
}

// Close frees what the reader holds beside the file.
func (f *Reader) Close() error {
	if f.parquet == nil {
		return nil
	}
	return f.parquet.close()
}

// header reads the names of columns. Spreadsheets in much of Europe separate cells by semicolons.
func (f *Reader) header(line string) (err error) {
	f.Comma = ','
	for _, comma := range ";\t" {
		if strings.Count(line, string(comma)) > strings.Count(line, string(f.Comma)) {
			f.Comma = comma
		}
	}
	f.Names, err = f.split(line)
	for i, name := range f.Names {
		if f.Names[i] = strings.TrimSpace(name); slices.Contains(f.Names[:i], f.Names[i]) {
			return fmt.Errorf("column %q occurs twice", f.Names[i])
		}
	}
	return err
}

// Next reads the next record. It returns io.EOF at the end of the file, and a [*LineError] for an invalid line.
func (f *Reader) Next() (r Record, err error) {
	if f.parquet != nil {
		f.Line++
		return f.parquet.next()
	}
	line := f.ahead
	if f.ahead = nil; line == nil {
		line, err = f.next()
	}
	switch {
	case errors.Is(err, errLong):
		return nil, &LineError{err}
	case err == io.EOF:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", f.Line, err)
	}
	if f.Format == JSONL {
		r, err = f.object(line)
	} else {
		r, err = f.cells(string(line))
	}
	if err != nil {
		return r, &LineError{err}
	}
	return r, nil
}

func (f *Reader) cells(line string) (r Record, err error) {
	cells := strings.Split(line, string(f.Comma))
	if strings.Contains(line, `"`) {
		if cells, err = f.split(line); err != nil {
			return nil, err
		}
	}
	for i := range cells {
		if text := strings.TrimSpace(cells[i]); text == "" {
			r = append(r, Cell{})
		} else {
			r = append(r, Cell{text, '"'})
		}
	}
	if len(cells) != len(f.Names) {
		return r, fmt.Errorf("the line has %d fields, the header has %d", len(cells), len(f.Names))
	}
	return r, nil
}

// split reads one line alone, so that a quote that is not closed spoils no other line.
func (f *Reader) split(line string) ([]string, error) {
	c := csv.NewReader(strings.NewReader(line))
	c.Comma, c.TrimLeadingSpace = f.Comma, f.Comma != '\t'
	fields, err := c.Read()
	if wrong, ok := errors.AsType[*csv.ParseError](err); ok {
		if errors.Is(wrong.Err, csv.ErrQuote) || errors.Is(wrong.Err, csv.ErrBareQuote) {
			return nil, fmt.Errorf(`a quote at character %d is not closed or misplaced; write a field with quotes as "so `+
				`""quoted"" there"`, wrong.Column)
		}
		return nil, wrong.Err
	}
	return fields, err
}

func (f *Reader) object(line []byte) (Record, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, fmt.Errorf("not a JSON object: %s", PlainError(err))
	}
	if members == nil {
		return nil, errors.New("not a JSON object but null")
	}
	r := make(Record, len(f.Names), len(f.Names)+len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		i, known := f.index[name]
		if !known {
			if len(f.Names) == MaxColumns {
				return nil, fmt.Errorf("with %q the file has more than %d columns", name, MaxColumns)
			}
			i = len(f.Names)
			f.Names, f.index[name], r = append(f.Names, name), i, append(r, Cell{})
		}
		r[i] = CellOf(members[name])
	}
	return r, nil
}

// CellOf returns a JSON value as a cell.
func CellOf(v jsontext.Value) Cell {
	switch v.Kind() {
	case 'n':
		return Cell{}
	case '"':
		var text string
		if json.Unmarshal(v, &text) != nil || strings.TrimSpace(text) == "" {
			return Cell{}
		}
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

var errLong = fmt.Errorf("the line is longer than %d bytes", MaxLine)

// next reads the next line that is not empty, without its end. It returns errLong for one that is too long.
func (f *Reader) next() ([]byte, error) {
	for {
		line, err := f.raw()
		if err == nil && f.isComment(line) {
			continue
		}
		if err != nil || len(bytes.TrimSpace(line)) > 0 {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

// isComment reports whether a line is a comment: it begins with #. Before the header it must have no separator, because
// some programs write the header that way.
func (f *Reader) isComment(line []byte) bool {
	return line[0] == '#' && (f.Format != "" || !bytes.ContainsAny(line, ",;\t"))
}

func (f *Reader) raw() (line []byte, err error) {
	f.Line++
	long := false
	for {
		part, err := f.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > MaxLine; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !(errors.Is(err, io.EOF) && (long || len(line) > 0)):
			return nil, err
		case long:
			return nil, errLong
		}
		return line, nil
	}
}
