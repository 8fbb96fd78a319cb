package answers

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tableWriter aligns columns in blocks of lines, because it does not hold all lines. Columns never become narrower.
type tableWriter struct {
	out     *bufio.Writer
	columns *columns
	widths  []int
	block   [][]shown
}

// A shown cell is a formatted one.
type shown struct {
	text  string
	right bool // aligned to the right
}

const blockLines = 200

func newTable(w io.Writer, columns *columns) *tableWriter {
	t := &tableWriter{out: bufio.NewWriter(w), columns: columns, widths: make([]int, len(columns.all))}
	header := make([]shown, len(columns.all))
	for i := range columns.all {
		header[i] = shown{text: strings.ToUpper(columns.all[i].name)}
	}
	t.block = append(t.block, header)
	return t
}

func (t *tableWriter) Row(row any) error {
	return t.columns.lines(row, func(cells []cell) error {
		line := make([]shown, len(cells))
		for i := range cells {
			line[i].text, line[i].right = cells[i].forPeople()
		}
		if t.block = append(t.block, line); len(t.block) < blockLines {
			return nil
		}
		return t.End()
	})
}

// End prints the lines of a block. People wait for it, so it leaves none in buffers.
func (t *tableWriter) End() error {
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
	return t.out.Flush()
}

func (t *tableWriter) aligned(line []shown) string {
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

// mostShown is how many characters of a cell a table shows.
const mostShown = 100

// shortened removes what could affect a terminal, and shortens a long text.
func shortened(text string) string {
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
