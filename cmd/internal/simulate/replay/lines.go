package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds the memory that a line takes, whatever the file is.
const maxLine = 1 << 20

var errLong = fmt.Errorf("it is longer than %d bytes", maxLine)

// lines are those of a file that are not empty.
type lines struct {
	in     *bufio.Reader
	number int // of the last one
}

func newLines(r io.Reader) (*lines, error) {
	l := &lines{in: bufio.NewReaderSize(r, 64<<10)}
	if magic, _ := l.in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(l.in)
		if err != nil {
			return nil, err
		}
		l.in = bufio.NewReaderSize(z, 64<<10)
	}
	if mark, _ := l.in.Peek(3); string(mark) == "\ufeff" { // which Excel writes
		_, _ = l.in.Discard(3) // they were just peeked at
	}
	return l, nil
}

// next is the next line that is not empty, errLong in place of one that is too long, or
// io.EOF. It holds until the next call.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.raw()
		if err != nil || len(bytes.TrimSpace(line)) > 0 {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

func (l *lines) raw() (line []byte, err error) {
	l.number++
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
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
		return line, nil
	}
}
