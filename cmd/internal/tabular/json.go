package tabular

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Ways in which JSON begins.
type jsonStart int

const (
	notJSON   jsonStart = iota
	oneLine             // an object is a line
	manyLines           // objects over several lines
	array               // of objects
)

// startOf looks at the first line that is neither empty nor a comment.
func startOf(in *bufio.Reader) jsonStart {
	ahead, _ := in.Peek(64 << 10)
	for len(ahead) > 0 {
		first, rest, ended := bytes.Cut(ahead, []byte("\n"))
		ahead = rest
		switch first = bytes.TrimSpace(first); {
		case len(first) == 0 || first[0] == '#':
		case first[0] == '[' && !bytes.HasPrefix(rest, []byte(";")):
			return array
		case first[0] != '{':
			return notJSON
		case ended && strings.Contains("{[,", string(first[len(first)-1])):
			return manyLines
		default:
			return oneLine
		}
	}
	return notJSON
}

// objectLines reads an object from each line.
type objectLines struct{ *Reader }

func (f *objectLines) next() (Record, error) {
	for {
		read, err := f.lines.next()
		f.Line = max(f.Line, read.number)
		switch {
		case errors.Is(err, errLong):
			return nil, &LineError{err}
		case err != nil:
			return nil, err
		case len(bytes.TrimSpace(read.text)) == 0 || read.text[0] == '#':
			continue
		}
		return f.object(read.text)
	}
}

func (f *Reader) object(text []byte) (r Record, err error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, &LineError{fmt.Errorf("not a JSON object: %s", PlainError(err))}
	}
	if members == nil {
		return nil, &LineError{errors.New("not a JSON object but null")}
	}
	r = make(Record, len(f.Names), max(len(f.Names), len(members)))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if r, err = f.set(r, name, CellOf(members[name])); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// objects reads objects that follow one another, or that are elements of arrays.
type objects struct {
	*Reader
	in      *jsontext.Decoder
	from    *io.LimitedReader // that in reads, which holds an object as a whole
	inArray bool
}

// mostObject bounds the bytes of an object and of what is read ahead of it. One longer than MaxLine is skipped.
const mostObject = 16 << 20

func newObjects(f *Reader, in io.Reader) *objects {
	from := &io.LimitedReader{R: in, N: mostObject}
	return &objects{Reader: f, in: jsontext.NewDecoder(from), from: from}
}

func (o *objects) next() (Record, error) {
	o.from.N = mostObject
	for kind := o.in.PeekKind(); kind == '[' && !o.inArray || kind == ']' && o.inArray; kind = o.in.PeekKind() {
		_, _ = o.in.ReadToken() // peeked at before
		o.inArray = !o.inArray
	}
	o.Line++
	value, err := o.in.ReadValue()
	switch {
	case err != nil && o.from.N == 0:
		return nil, fmt.Errorf("object %d is longer than %d MiB", o.Line, mostObject>>20)
	case errors.Is(err, io.EOF) && !o.inArray:
		return nil, io.EOF
	case err != nil:
		return nil, fmt.Errorf("object %d: not JSON: %s", o.Line, PlainError(err))
	case len(value) > MaxLine:
		return nil, &LineError{fmt.Errorf("the object is longer than %d bytes", MaxLine)}
	}
	return o.object(value)
}

// Member returns the member of an object that a path such as deviceInfo.devEui names, and the object without it. There
// is none if the value is no object.
func Member(c Cell, path string) (member, rest Cell) {
	name, within, nested := strings.Cut(path, ".")
	var members map[string]jsontext.Value
	if c.Kind != '{' || json.Unmarshal([]byte(c.Text), &members) != nil {
		return Cell{}, c
	}
	if _, whole := members[path]; whole {
		name, nested = path, false
	}
	if member = CellOf(members[name]); nested {
		var left Cell
		if member, left = Member(member, within); left.Kind == '{' {
			members[name] = jsontext.Value(left.Text)
		} else if left.Kind == 0 {
			delete(members, name)
		}
	} else {
		delete(members, name)
	}
	if len(members) == 0 {
		return member, Cell{}
	}
	text, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		return member, c
	}
	return member, Cell{string(text), '{'}
}
