package tabular

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// A line is a line of text without its end.
type line struct {
	number int
	text   []byte
	end    string // LF, CRLF or CR; a file's last line may have none
	err    error  // errLong
}

// lines reads lines that end with LF, CRLF or CR.
type lines struct {
	in     *bufio.Scanner
	utf8   bool
	number int
	long   bool   // the line at hand is longer than MaxLine
	end    string // of the line at hand
	ahead  []line
}

var errLong = fmt.Errorf("the line is longer than %d bytes", MaxLine)

func newLines(in io.Reader, mustBeUTF8 bool) *lines {
	l := &lines{in: bufio.NewScanner(in), utf8: mustBeUTF8}
	l.in.Buffer(make([]byte, 64<<10), MaxLine+2)
	skipping := false
	l.in.Split(func(data []byte, atEnd bool) (int, []byte, error) {
		end := bytes.IndexByte(data, '\n')
		within := data
		if end >= 0 {
			within = data[:end]
		}
		next := end + 1
		if cr := bytes.IndexByte(within, '\r'); cr >= 0 && (cr+1 < len(data) || atEnd) {
			if end, next = cr, cr+1; next < len(data) && data[next] == '\n' {
				next++
			}
		}
		if end < 0 {
			switch {
			case len(data) > MaxLine:
				skipping = true
				return len(data) - 1, nil, nil
			case !atEnd || len(data) == 0:
				return 0, nil, nil
			}
			end, next = len(data), len(data)
		}
		l.long, skipping = skipping || end > MaxLine, false
		if l.end = "\r\n"[:next-end]; end < next && data[end] == '\n' {
			l.end = "\n"
		}
		return next, data[:end:end], nil
	})
	return l
}

// read reads a line from the file.
func (l *lines) read() (line, error) {
	if !l.in.Scan() {
		if err := l.in.Err(); err != nil {
			return line{}, fmt.Errorf("line %d: %w", l.number+1, err)
		}
		return line{}, io.EOF
	}
	l.number++
	text := l.in.Bytes()
	if l.utf8 && !utf8.Valid(text) {
		return line{}, &UnclearError{What: fmt.Sprintf("line %d is not UTF-8", l.number), Flag: "encoding",
			Choices: []Choice{{"windows-1252", "Western Europe, and Latin-1"}, {"iso-8859-2", "Central Europe"}}}
	}
	if l.long {
		return line{number: l.number, err: errLong}, nil
	}
	return line{number: l.number, text: text, end: l.end}, nil
}

// next returns the next line, which is valid until the next call.
func (l *lines) next() (line, error) {
	if len(l.ahead) > 0 {
		first := l.ahead[0]
		l.ahead = l.ahead[1:]
		return first, first.err
	}
	read, err := l.read()
	if err == nil {
		err = read.err
	}
	return read, err
}

// peek returns a line after the next ones without taking it.
func (l *lines) peek(after int) (line, error) {
	for len(l.ahead) <= after {
		read, err := l.read()
		if err != nil {
			return read, err
		}
		l.ahead = append(l.ahead, line{read.number, bytes.Clone(read.text), read.end, read.err})
	}
	return l.ahead[after], nil
}
