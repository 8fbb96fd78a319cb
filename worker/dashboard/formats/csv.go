package formats

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"
)

type csvWriter struct {
	w       io.Writer
	out     *csv.Writer
	columns []Column
	line    []string
}

// newCSV returns a writer that begins with a line of names.
func newCSV(w io.Writer, columns []Column) *csvWriter {
	c := &csvWriter{w: w, out: csv.NewWriter(w), columns: columns, line: make([]string, len(columns))}
	for i := range columns {
		c.line[i] = columns[i].Name
	}
	_ = c.out.Write(c.line) // an error comes again at the end
	return c
}

func (c *csvWriter) Row(r Row) (err error) {
	r.Lines(func(cells []Cell) {
		for i := range cells {
			c.line[i] = c.columns[i].text(&cells[i])
		}
		if e := c.out.Write(c.line); e != nil {
			err = e
		}
	})
	return err
}

// text returns a cell as CSV has it, empty where it has no value.
func (c Column) text(v *Cell) string {
	switch {
	case !v.has:
		return ""
	case c.Type == Number:
		return strconv.FormatFloat(v.number, 'g', -1, 64)
	case c.Type == Count:
		return strconv.FormatInt(v.count, 10)
	case c.Type == Time:
		return v.time.UTC().Format(time.RFC3339Nano)
	case c.Type == Flag:
		return strconv.FormatBool(v.count != 0)
	}
	return Harmless(Printable(v.text))
}

// Harmless keeps a spreadsheet from taking a text that a device has sent for a formula.
func Harmless(text string) string {
	if text != "" && strings.ContainsAny(text[:1], "=+-@\t\r") {
		return "'" + text
	}
	return text
}

func (c *csvWriter) End() error {
	c.out.Flush()
	return c.out.Error()
}

// Break ends in a quoted text without its second quote.
func (c *csvWriter) Break(reason string) error {
	if err := c.End(); err != nil {
		return err
	}
	_, err := io.WriteString(c.w, `"`+strings.ReplaceAll(reason, `"`, "'"))
	return err
}
