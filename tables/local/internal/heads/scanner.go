package heads

import (
	"bytes"
	"strconv"
	"strings"
)

// prefix begins the names of metadata headers.
const prefix = "x-ms-meta-"

// maxLine is more than a server reads of a head.
const maxLine = 128 << 10

// A scanner follows the requests in what a connection reads. Whether they are valid is for the server to say: where
// the two disagree, names are in lower case.
type scanner struct {
	line    []byte // the start of a line that has not ended
	skip    int64  // bytes of a body, or of a chunk, that are still to come
	state   state
	lost    bool // nothing more is followed
	length  int64
	chunked bool
	names   map[string]string // of the head that is being read
	heads   []map[string]string
}

type state byte

const (
	requestLine state = iota
	headLine
	chunkSize // the line before a chunk
	chunkEnd  // the line break after one
	trailerLine
)

func (s *scanner) write(p []byte) {
	for len(p) > 0 && !s.lost {
		if s.skip > 0 {
			n := min(s.skip, int64(len(p)))
			s.skip -= n
			p = p[n:]
			continue
		}
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.line = append(s.line, p...)
			s.lost = len(s.line) > maxLine
			return
		}
		line := p[:i]
		if len(s.line) > 0 {
			s.line = append(s.line, line...)
			line = s.line
		}
		s.take(bytes.TrimSuffix(line, []byte("\r")))
		s.line = s.line[:0]
		p = p[i+1:]
	}
}

// take follows a line without its end.
func (s *scanner) take(line []byte) {
	switch s.state {
	case requestLine:
		s.state, s.length, s.chunked, s.names = headLine, 0, false, nil
	case headLine:
		if len(line) > 0 {
			s.header(line)
			return
		}
		s.heads = append(s.heads, s.names)
		switch s.state = requestLine; {
		case s.chunked:
			s.state = chunkSize
		default:
			s.skip = s.length
		}
	case chunkSize:
		size, _, _ := strings.Cut(string(line), ";")
		n, err := strconv.ParseInt(strings.TrimSpace(size), 16, 63)
		switch s.skip, s.state = n, chunkEnd; {
		case err != nil || n < 0:
			s.lost = true
		case n == 0:
			s.state = trailerLine
		}
	case chunkEnd:
		s.state = chunkSize
	case trailerLine:
		if len(line) == 0 {
			s.state = requestLine
		}
	}
}

// header follows a line of a head.
func (s *scanner) header(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	s.name(name)
	switch {
	case len(name) == len("Content-Length") && strings.EqualFold(string(name), "Content-Length"):
		n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 63)
		s.length, s.lost = n, err != nil || n < 0
	case len(name) == len("Transfer-Encoding") && strings.EqualFold(string(name), "Transfer-Encoding"):
		s.chunked = true
	}
}

// name takes a name of metadata; others do not matter.
func (s *scanner) name(name []byte) {
	if len(name) <= len(prefix) || !strings.EqualFold(string(name[:len(prefix)]), prefix) {
		return
	}
	own := string(name[len(prefix):])
	lower := strings.ToLower(own)
	if _, twice := s.names[lower]; own == lower || twice {
		return
	}
	if s.names == nil {
		s.names = map[string]string{}
	}
	s.names[lower] = own
}
