package records

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Format is a form of output.
type Format string

const (
	Table Format = "table" // for people: aligned, times in UTC
	CSV   Format = "csv"
	JSONL Format = "jsonl" // one object a line
)

// Formats returns the names of all formats.
func Formats() []string { return []string{string(Table), string(CSV), string(JSONL)} }

// lines writes records in one format.
type lines interface {
	write(Record) error
	flush() error
}

// Write writes records as they come, and returns their number. Without records it writes only a header.
func Write[R Record](w io.Writer, format Format, records iter.Seq2[R, error]) (n int, err error) {
	out := bufio.NewWriter(w)
	var example R
	to := newLines(out, format, example)
	n, err = writeAll(to, records)
	return n, errors.Join(err, to.flush(), out.Flush()) // also what came before an error
}

func writeAll[R Record](to lines, records iter.Seq2[R, error]) (n int, err error) {
	for r, err := range records {
		if err != nil {
			return n, err
		}
		if err := to.write(r); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func newLines(out *bufio.Writer, format Format, example Record) lines {
	switch format {
	case CSV:
		return newCSV(out, example.Columns())
	case JSONL:
		return jsonLines{out}
	case Table:
		return newTable(out, example.Columns())
	}
	panic(fmt.Sprintf("records: no format %q", format))
}

type jsonLines struct{ out *bufio.Writer }

func (j jsonLines) write(r Record) error {
	if err := json.MarshalWrite(j.out, r.Object(), json.Deterministic(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return err
	}
	return j.out.WriteByte('\n')
}

func (jsonLines) flush() error { return nil }
