package records

import (
	"bufio"
	"encoding/csv"
	"strconv"
	"strings"
)

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
				text = harmless(text)
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
