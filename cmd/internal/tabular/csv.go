package tabular

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"furrow/cmd/internal/times"
)

// A table reads CSV. InfluxDB writes several tables, each with its own header, into one file.
type table struct {
	*Reader
	columns  []int    // where the cells of a line belong in Names
	head     []string // the header as it is written
	repeated int      // lines that repeat it: the file is several that were joined
	defaults []string // of InfluxDB's columns
	fresh    bool     // the next line may be a header of InfluxDB
	comments int      // lines after the header that begin with #
}

// ahead is how many lines decide about the separator.
const ahead = 20

func newTable(f *Reader) (*table, error) {
	t := &table{Reader: f}
	t.Comma = f.options.Separator
	first, err := t.peekRecord(0)
	if err == nil && strings.HasPrefix(first, "sep=") && len(first) == len("sep=x") { // Excel's own line
		t.Comma = rune(first[4])
		_, _ = t.lines.next() // peeked at before
	}
	if t.Comma == 0 {
		t.Comma = t.separator()
	}
	if names := f.options.Header; len(names) > 0 {
		if line, err := t.peekRecord(0); err == nil && t.width(line) != len(names) {
			return nil, fmt.Errorf("--header has %d names, line %d has %d fields", len(names), f.options.Skip+1, t.width(line))
		}
		t.Names = names
		for i := range names {
			t.columns = append(t.columns, i)
		}
		return t, nil
	}
	return t, t.header()
}

// peekRecord returns a line after the next ones that is neither empty nor a comment, without taking it. Those before
// the first are taken.
func (t *table) peekRecord(n int) (string, error) {
	for i := 0; ; i++ {
		line, err := t.lines.peek(i)
		if err != nil {
			return "", err
		}
		text := string(line.text)
		switch {
		case line.err != nil && n == 0:
			return "", line.err
		case !t.isComment(text) || line.err != nil:
			if n--; n < 0 {
				return text, nil
			}
		case i == 0:
			_, _ = t.lines.next() // peeked at before
			i--
		}
	}
}

// isComment reports whether a line is empty, or begins with # and is no header: some programs write the header that
// way.
func (t *table) isComment(text string) bool {
	return strings.TrimSpace(text) == "" ||
		text[0] == '#' && !isAnnotation(text) && (t.columns != nil || !strings.ContainsAny(text, ",;\t"))
}

func isAnnotation(text string) bool {
	return strings.HasPrefix(text, "#group") || strings.HasPrefix(text, "#datatype") || strings.HasPrefix(text, "#default")
}

// separator returns the character that cuts most of the first lines into the same number of fields.
func (t *table) separator() rune {
	best, most, comma := 0, 0, ','
	for _, candidate := range ",;\t|" {
		t.Comma = candidate
		widths := map[int]int{}
		for n := range ahead {
			line, err := t.peekRecord(n)
			if err != nil {
				break
			}
			widths[t.width(line)]++
		}
		for width, lines := range widths {
			if width > 1 && (lines > best || lines == best && width > most) {
				best, most, comma = lines, width, candidate
			}
		}
	}
	return comma
}

// width returns how many fields a line has.
func (t *table) width(line string) int {
	n, quoted := 1, false
	for _, r := range line {
		switch {
		case r == '"':
			quoted = !quoted
		case r == t.Comma && !quoted:
			n++
		}
	}
	return n
}

// header reads the names of columns.
func (t *table) header() error {
	text, err := t.peekRecord(0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for ; isAnnotation(text); text, _ = t.peekRecord(0) {
		if cells, err := t.split(text); err == nil && strings.HasPrefix(text, "#default") {
			t.defaults = cells
		}
		_, _ = t.lines.next() // peeked at before
	}
	if strings.HasPrefix(text, `"TOA5"`) || strings.HasPrefix(text, "TOA5") {
		_, _ = t.lines.next() // peeked at before
		if text, err = t.peekRecord(0); err != nil {
			return errors.New("the TOA5 file has no header")
		}
		defer t.drop("units", 2)
	}
	line, err := t.lines.next()
	if err != nil {
		return err
	}
	t.Line = line.number
	names, err := t.split(text)
	if err != nil {
		return fmt.Errorf("line %d, the header: %w", t.Line, err)
	}
	t.head = names
	if t.options.Readings {
		names = t.numbered(names)
		if err := t.doubtful(names); err != nil {
			return err
		}
		if next, _ := t.peekRecord(0); next != "" && !t.hasData(next) {
			if after, err := t.peekRecord(1); err == nil && t.hasData(after) {
				defer t.drop("units", 1)
			}
		}
	}
	return t.setNames(names)
}

// numbered returns the names of columns with an empty one before them, where all lines have one field more that counts
// them: the language R leaves out its name.
func (t *table) numbered(names []string) []string {
	for n := range ahead {
		line, err := t.peekRecord(n)
		if err != nil && n > 0 {
			return append([]string{""}, names...)
		}
		cells, _ := t.split(line)
		if len(cells) != len(names)+1 || cells[0] != strconv.Itoa(n+1) {
			return names
		}
	}
	return append([]string{""}, names...)
}

// setNames begins a table. In a file with several, columns of one name are one column.
func (t *table) setNames(names []string) error {
	several := t.columns != nil
	t.columns = t.columns[:0:0]
	for _, name := range names {
		name = strings.TrimSpace(name)
		if !several {
			t.columns, t.index[name], t.Names = append(t.columns, len(t.Names)), len(t.Names), append(t.Names, name)
			continue
		}
		i, err := t.column(name)
		if err != nil {
			return err
		}
		t.columns = append(t.columns, i)
	}
	return nil
}

// drop skips lines after the header.
func (t *table) drop(what string, n int) {
	for range n {
		if line, err := t.lines.next(); err == nil {
			t.Notes = append(t.Notes, fmt.Sprintf("line %d holds %s and is skipped: %s", line.number, what,
				Printable(string(line.text), 60)))
		}
	}
}

// doubtful returns an error for a first line that looks like no header.
func (t *table) doubtful(names []string) error {
	named, data := 0, 0
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" {
			named++
		}
		if isTime(name) {
			data = len(names)
		} else if isNumber(name) {
			data++
		}
	}
	shown := Printable(strings.Join(names, string(t.Comma)), 60)
	if 2*data >= len(names) {
		return &UnclearError{What: fmt.Sprintf("line %d looks like data and not like names of columns: %s", t.Line, shown),
			Flag: "header", Choices: []Choice{{"time,temp,…", fmt.Sprintf("%d names", len(names))}}}
	}
	widths := map[int]int{}
	usual, at := 0, 0
	for n := range ahead {
		line, err := t.peekRecord(n)
		if err != nil {
			break
		}
		cells, _ := t.split(line)
		width := len(cells)
		if widths[width]++; widths[width] > widths[usual] {
			usual = width
		}
		full := len(cells) - countEmpty(cells)
		if at == 0 && full > named && (full > 2*named || width != len(names)) {
			at = n + 1
		}
	}
	if wrong := usual > 1 && usual > len(names) || named*2 < len(names); wrong && at > 0 {
		return &UnclearError{What: fmt.Sprintf("line %d looks like a title and not like names of columns: %s", t.Line, shown),
			Flag: "skip", Choices: []Choice{{strconv.Itoa(t.options.Skip + at), "lines before the names of columns"}}}
	}
	return nil
}

func countEmpty(cells []string) (n int) {
	for _, cell := range cells {
		if strings.TrimSpace(cell) == "" {
			n++
		}
	}
	return n
}

// hasData reports whether a line has a number or a time.
func (t *table) hasData(line string) bool {
	cells, err := t.split(line)
	return err != nil || slices.ContainsFunc(cells, func(cell string) bool {
		cell = strings.TrimSpace(cell)
		return isNumber(cell) || isTime(cell) || times.IsClock(cell)
	})
}

func isNumber(text string) bool {
	return text != "" && strings.ContainsAny(text, "0123456789") && strings.Trim(text,
		"+-−.,0123456789eE \u00a0\u202f") == ""
}

func isTime(text string) bool {
	return len(text) >= 6 && !isNumber(text) && times.IsTime(text)
}

func (t *table) next() (Record, error) {
	for {
		line, err := t.lines.next()
		switch {
		case errors.Is(err, errLong):
			t.Line = line.number
			return nil, &LineError{err}
		case err != nil:
			if t.comments > 0 {
				t.Notes = append(t.Notes, fmt.Sprintf("lines that begin with # are skipped: %d", t.comments))
			}
			if t.repeated > 0 {
				t.Notes = append(t.Notes, fmt.Sprintf("lines that repeat the header are skipped: %d", t.repeated))
			}
			return nil, err
		}
		text := string(line.text)
		t.Line = line.number
		if isAnnotation(text) && slices.Contains(t.Names, "_time") {
			if cells, err := t.split(text); err == nil && strings.HasPrefix(text, "#default") {
				t.defaults = cells
			}
			t.fresh = true
			continue
		}
		if t.isComment(text) {
			if t.fresh = true; strings.HasPrefix(text, "#") {
				t.comments++
			}
			continue
		}
		if !strings.Contains(text, `"`) {
			r, again, err := t.record(strings.Split(text, string(t.Comma)))
			if again {
				continue
			}
			return r, err
		}
		cells, err := t.split(t.joined(text, line.end))
		if err != nil {
			return nil, &LineError{err}
		}
		if r, again, err := t.record(cells); !again {
			return r, err
		}
	}
}

// exact reports whether spaces around a text are a part of it: Furrow has written the file.
func (t *table) exact() bool {
	own := []string{"device", "time", "sensor", "value"}
	return len(t.Names) > len(own) && slices.Equal(t.Names[:len(own)], own) && slices.Contains(t.Names, "row")
}

// byteOrderMark is what Excel begins a file with: in one that was joined to another, it is within the text.
const byteOrderMark = "\ufeff"

// record returns the cells of a line. It reports whether the line is another header.
func (t *table) record(cells []string) (r Record, header bool, err error) {
	if t.fresh && slices.Contains(t.Names, "_time") && slices.Contains(cells, "table") && slices.Contains(cells,
		"result") {
		t.fresh = false
		return nil, true, t.setNames(cells)
	}
	t.fresh = false
	if len(cells) == len(t.head) && strings.TrimPrefix(cells[0], byteOrderMark) == t.head[0] &&
		slices.Equal(cells[1:], t.head[1:]) {
		t.repeated++
		return nil, true, nil
	}
	for len(cells) > len(t.columns) && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	r = make(Record, len(t.Names))
	for i, cell := range cells {
		text := cell
		if !t.exact() {
			text = strings.TrimSpace(cell)
		}
		if text == "" && i < len(t.defaults) {
			text = t.defaults[i]
		}
		if text != "" && i < len(t.columns) {
			r[t.columns[i]] = Cell{text, '"'}
		}
	}
	if len(cells) != len(t.columns) {
		return r, false, &LineError{fmt.Errorf("the line has %d fields, the header has %d", len(cells), len(t.columns))}
	}
	return r, false, nil
}

// maxJoined is how many lines a record may have.
const maxJoined = 100

// joined returns a line with those that follow it within a quoted field, whose ends are a part of it. If the quote is
// never closed, it is the line alone, so that it spoils no other line.
func (t *table) joined(text, end string) string {
	whole := text
	for n := range maxJoined {
		open, wrong := t.open(whole)
		if wrong || len(whole) > MaxLine {
			break
		}
		if !open {
			for range n {
				_, _ = t.lines.next() // peeked at before
			}
			return whole
		}
		line, err := t.lines.peek(n)
		if err != nil || line.err != nil {
			break
		}
		if end == "\r\n" {
			end = "\r\r\n" // encoding/csv takes one CR away
		}
		whole, end = whole+end+string(line.text), line.end
	}
	return text
}

// open reports whether a record ends within a quoted field, or has a quote that is misplaced.
func (t *table) open(text string) (quoted, wrong bool) {
	start := true
	for i := 0; i < len(text); i++ {
		after := i + 1
		switch c := text[i]; {
		case c == '"' && !quoted:
			if quoted = start; !start {
				return false, true
			}
		case c == '"' && after < len(text) && text[after] == '"':
			i++
		case c == '"':
			rest := strings.TrimLeft(text[after:], " ")
			if quoted = false; rest != "" && !strings.HasPrefix(rest, string(t.Comma)) {
				return false, true
			}
		case !quoted:
			start = c == byte(t.Comma) || start && c == ' '
		}
	}
	return quoted, false
}

// split reads one record alone, so that a quote that is not closed spoils no other line.
func (t *table) split(text string) ([]string, error) {
	c := csv.NewReader(strings.NewReader(text))
	c.Comma, c.TrimLeadingSpace = t.Comma, t.Comma != '\t' && !t.exact()
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
