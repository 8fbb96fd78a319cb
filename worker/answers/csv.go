package answers

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// csvWriter writes CSV as in RFC 4180, with a header.
type csvWriter struct {
	out     *csv.Writer
	columns *columns
	line    []string
}

func newCSV(w io.Writer, columns *columns) *csvWriter {
	c := &csvWriter{out: csv.NewWriter(w), columns: columns, line: make([]string, len(columns.all))}
	for i := range columns.all {
		c.line[i] = columns.all[i].name
	}
	_ = c.out.Write(c.line) // an error comes again at the end
	return c
}

// Row formats what all lines of a row have in common once.
func (c *csvWriter) Row(row any) error {
	first := true
	return c.columns.lines(row, func(cells []cell) error {
		for i := range cells {
			if !first && c.columns.all[i].part == none {
				continue
			}
			switch c.line[i] = cells[i].csv(); {
			case cells[i].kind != text:
			case c.columns.all[i].only == textsOnly && IsTruth(c.line[i]):
				c.line[i] = "'" + c.line[i] // without it, it would be a boolean
			default:
				c.line[i] = Harmless(c.line[i])
			}
		}
		first = false
		return c.out.Write(c.line)
	})
}

func (c *csvWriter) End() error {
	c.out.Flush()
	return c.out.Error()
}

// IsTruth reports whether a text is written as a boolean is.
func IsTruth(text string) bool { return text == "true" || text == "false" }

// Harmless returns a text for a cell of CSV. It keeps a terminal from obeying a device's text, and a spreadsheet from
// running it as a formula: it adds an apostrophe before a text that begins like a formula, and before one that begins
// with an apostrophe, so that removing one restores the text. owasp.org: "CSV Injection".
func Harmless(text string) string {
	text = Printable(text)
	if text == "" || !strings.ContainsRune("=+-@\t\r\n'", rune(text[0])) {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil && text[0] != '\'' {
		return text // a number, sent as text
	}
	return "'" + text
}
