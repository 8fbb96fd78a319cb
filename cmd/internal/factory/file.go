package factory

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"furrow/sas"
)

// A Format is how a file is written.
type Format string

const (
	CSV   Format = "csv"   // with a header; a record is one line
	JSONL Format = "jsonl" // an object a line
)

// Formats are all of them.
func Formats() []string { return []string{string(CSV), string(JSONL)} }

// maxLine bounds the memory that a line takes, whatever the file is.
const maxLine = 128 << 10

// A Line is what a line of a file says.
type Line struct {
	Number   int // counted from 1
	ID       string
	Delivery sas.Delivery
	Wrong    error // why it cannot be; the other fields may be missing then
}

// A File is being read. Make one with Open.
type File struct {
	in     *bufio.Reader
	number int // of the last line that was read
	rows   rows
	// unknown are columns or members that mean nothing, once each.
	unknown []string
}

// rows turn lines into fields by the names of columns.
type rows interface {
	fields(line []byte) (fields map[string]string, err error)
}

// Open begins to read a file, compressed with gzip or not, and in CSV its header.
func Open(r io.Reader, format Format) (*File, error) {
	f := &File{in: bufio.NewReaderSize(r, 64<<10)}
	if magic, _ := f.in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(f.in)
		if err != nil {
			return nil, err
		}
		f.in = bufio.NewReaderSize(z, 64<<10)
	}
	if mark, _ := f.in.Peek(3); string(mark) == "\ufeff" { // which Excel writes
		_, _ = f.in.Discard(3) // they were just peeked at
	}
	if format == JSONL {
		f.rows = jsonRows{f}
		return f, nil
	}
	header, err := f.next()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty; its first line must be a header with the names of the columns, such as id,site,lat,lon")
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", f.number, err)
	}
	f.rows, err = newCSV(f, string(header))
	return f, err
}

// Unknown are the columns, or members so far, that mean nothing here.
func (f *File) Unknown() []string { return f.unknown }

// mostUnknown is how many are remembered: a file of another kind has no end of them.
const mostUnknown = 20

// Lines are the lines that are not empty. An error is one of reading the file, and
// ends them.
func (f *File) Lines() iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for {
			text, err := f.next()
			switch {
			case errors.Is(err, io.EOF):
				return
			case errors.Is(err, errLong):
				if !yield(Line{Number: f.number, Wrong: err}, nil) {
					return
				}
				continue
			case err != nil:
				yield(Line{}, fmt.Errorf("line %d: %w", f.number, err))
				return
			}
			if !yield(f.line(text), nil) {
				return
			}
		}
	}
}

func (f *File) line(text []byte) Line {
	l := Line{Number: f.number}
	fields, err := f.rows.fields(text)
	if l.ID = fields["id"]; err != nil {
		l.Wrong = err
		return l
	}
	l.Delivery, l.Wrong = delivery(fields)
	return l
}

var errLong = fmt.Errorf("it is longer than %d bytes", maxLine)

// next is the next line that is not empty, without what ends it.
func (f *File) next() ([]byte, error) {
	for {
		line, err := f.raw()
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		return bytes.TrimRight(line, "\r"), err
	}
}

// raw is the next line. It passes by the whole of one that is too long. The end of
// the file without a line before it is io.EOF.
func (f *File) raw() ([]byte, error) {
	f.number++
	var line []byte
	long := false
	for {
		part, err := f.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; !long {
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
		return bytes.TrimSuffix(line, []byte("\n")), nil
	}
}

// unknownName remembers a name that means nothing.
func (f *File) unknownName(name string) {
	for _, known := range f.unknown {
		if known == name {
			return
		}
	}
	if len(f.unknown) < mostUnknown {
		f.unknown = append(f.unknown, name)
	}
}

// labelPrefix is before the name of a label in the name of a column.
const labelPrefix = "label."

// columnOf is the column that a name means, or none.
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

// columns are those that mean something, besides labels of their own.
func columns() []string {
	return []string{"id", "tenant", "site", "lat", "lon", "labels", "deployed"}
}
