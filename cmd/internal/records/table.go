package records

import (
	"bufio"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"furrow/tables"
)

// tableLines aligns columns in blocks of lines, because it does not hold all lines. Columns never become narrower.
type tableLines struct {
	out    *bufio.Writer
	widths []int
	block  [][]shown
}

// A shown cell is a formatted one.
type shown struct {
	text  string
	right bool // aligned to the right
}

const blockLines = 200

func newTable(out *bufio.Writer, columns []string) *tableLines {
	t := &tableLines{out: out, widths: make([]int, len(columns))}
	header := make([]shown, len(columns))
	for i, name := range columns {
		header[i] = shown{text: strings.ToUpper(name)}
	}
	t.block = append(t.block, header)
	return t
}

func (t *tableLines) write(r Record) error {
	for _, line := range r.Lines() {
		cells := make([]shown, len(line))
		for i, cell := range line {
			cells[i] = show(cell)
		}
		if t.block = append(t.block, cells); len(t.block) >= blockLines {
			if err := t.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tableLines) flush() error {
	for _, line := range t.block {
		for i, cell := range line {
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell.text))
		}
	}
	for _, line := range t.block {
		if _, err := t.out.WriteString(t.aligned(line)); err != nil {
			return err
		}
	}
	t.block = t.block[:0]
	return t.out.Flush() // people wait for it
}

func (t *tableLines) aligned(line []shown) string {
	var b strings.Builder
	for i, cell := range line {
		width := t.widths[i]
		if !cell.right {
			width = -width
		}
		fmt.Fprintf(&b, "%*s  ", width, cell.text)
	}
	return strings.TrimRight(b.String(), " ") + "\n"
}

func show(cell any) shown {
	switch c := cell.(type) {
	case Moment:
		if c == 0 {
			return shown{}
		}
		return shown{text: tables.Ticks(c).Time().Format("2006-01-02 15:04:05.9999999")}
	case Second:
		return shown{text: tables.Ticks(c).Time().Format(time.DateTime)}
	case float64:
		return shown{text: sixDigits(c), right: true}
	case bool:
		return shown{text: map[bool]string{true: "yes"}[c]}
	}
	text, isText := cellText(cell)
	if v, ok := cell.(tables.Value); ok {
		switch v.Type() {
		case tables.TypeBinary:
			text = v.String()
		case tables.TypeDouble:
			return show(v.Float())
		}
	}
	return shown{text: printable(text), right: !isText}
}

// mostShown is how many characters of a cell a table shows.
const mostShown = 100

// printable removes what could affect a terminal, and shortens a long text.
func printable(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > mostShown {
			return b.String() + "…"
		}
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			r = '·'
		}
		b.WriteRune(r)
	}
	return b.String()
}
