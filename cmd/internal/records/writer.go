package records

import (
	"bufio"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"

	"furrow/tables"
	"furrow/worker/answers"

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

// Formats returns the names of all answers.
func Formats() []string { return []string{string(Table), string(CSV), string(JSONL)} }

// lines writes records in one format.
type lines interface {
	write(Record) error
	flush() error
}

// Write writes records as they come, and returns their number. Without records it writes only a header, or nothing if
// that is because of an error.
func Write[R Record](w io.Writer, format Format, records iter.Seq2[R, error]) (n int, err error) {
	out := bufio.NewWriter(w)
	var example R
	to := newLines(out, format, example)
	if n, err = writeAll(to, records); n == 0 && err != nil {
		return 0, err
	}
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
	b, err := json.Marshal(r.Object(), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	_, err = j.out.Write(append(answers.PrintableJSON(b), '\n'))
	return err
}

func (jsonLines) flush() error { return nil }

// JSON returns a value in its own type where JSON has it. Bytes are base64, times are
// RFC 3339, and numbers that are not finite are texts, as in OData.
func JSON(v tables.Value) any {
	switch v.Type() {
	case tables.TypeBoolean:
		return v.Boolean()
	case tables.TypeInt32, tables.TypeInt64:
		return v.Int()
	case tables.TypeDouble:
		if f := v.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f
		}
		return number(v.Float())
	case tables.TypeDateTime:
		return Moment(v.Ticks()).String()
	case tables.TypeBinary:
		return base64.StdEncoding.EncodeToString(v.Binary())
	}
	return v.Text()
}

// csvLines writes CSV as in RFC 4180, with a header.
type csvLines struct {
	out    *csv.Writer
	header []string // until it is written
}

func newCSV(out *bufio.Writer, columns []string) *csvLines {
	return &csvLines{csv.NewWriter(out), columns}
}

func (c *csvLines) write(r Record) error {
	if err := c.begin(); err != nil {
		return err
	}
	for _, line := range r.Lines() {
		fields := make([]string, len(line))
		for i, cell := range line {
			text, isText := cellText(cell)
			if isText {
				text = harmless(answers.Printable(text))
			}
			fields[i] = text
		}
		if err := c.out.Write(fields); err != nil {
			return err
		}
	}
	return nil
}

func (c *csvLines) begin() error {
	header := c.header
	if c.header = nil; header == nil {
		return nil
	}
	return c.out.Write(header)
}

func (c *csvLines) flush() error {
	if err := c.begin(); err != nil {
		return err
	}
	c.out.Flush()
	return c.out.Error()
}

// harmless keeps a spreadsheet from running a device's text as a formula: it adds an apostrophe before a text that
// begins like a formula, and before one that begins with an apostrophe, so that removing one restores the text.
// owasp.org: "CSV Injection".
func harmless(text string) string {
	if text == "" || !strings.ContainsRune("=+-@\t\r\n'", rune(text[0])) {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil && text[0] != '\'' {
		return text // a number, sent as text
	}
	return "'" + text
}
