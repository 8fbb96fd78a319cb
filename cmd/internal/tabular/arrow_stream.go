package tabular

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"
)

// mostMeta bounds what a message of Arrow says of itself, in bytes.
const mostMeta = 1 << 20

// An arrowStream passes on a stream of Arrow message by message. The library allocates by the lengths that messages
// say, so it gets no message that says more than it has, and no columns of types that have parts.
type arrowStream struct {
	in    *bufio.Reader
	ahead []byte // of the message that was checked
	body  int64  // bytes that follow it

	refused error // of columns that are not read
}

func (s *arrowStream) Read(p []byte) (n int, err error) {
	if len(s.ahead) == 0 && s.body == 0 {
		if err := s.message(); err != nil {
			return 0, err
		}
	}
	if len(s.ahead) > 0 {
		n = copy(p, s.ahead)
		s.ahead = s.ahead[n:]
		return n, nil
	}
	n, err = s.in.Read(p[:min(int64(len(p)), s.body)])
	s.body -= int64(n)
	return n, within(err)
}

// within returns the error of reading within a message: a stream that ends there was cut.
func within(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// message reads what the next message says of itself.
func (s *arrowStream) message() (err error) {
	defer func() {
		if recover() != nil { // an offset beyond the end
			err = errors.New("a message says more than it has")
		}
	}()
	head := make([]byte, 8)
	if _, err := io.ReadFull(s.in, head); err != nil {
		return err
	}
	size := binary.LittleEndian.Uint32(head[4:])
	if string(head[:4]) != arrowMagic || size > mostMeta {
		return errors.New("a message has no length that can be")
	}
	s.ahead = slices.Grow(head, int(size))[:8+int(size)]
	if _, err := io.ReadFull(s.in, s.ahead[8:]); err != nil || size == 0 {
		return within(err)
	}
	m := arrowRoot(s.ahead[8:])
	const typeOf, headerOf, bodyOf = 6, 8, 10 // slots of a message
	if at := m.Offset(bodyOf); at != 0 {
		s.body = m.GetInt64(m.Pos + flatbuffers.UOffsetT(at))
	}
	if s.body < 0 || s.body > mostBatch {
		return errBatch
	}
	const schema, dictionary, batch, dataOf = 1, 2, 3, 6
	switch m.number(typeOf) {
	case schema:
		s.refused = m.child(headerOf).columns()
		return s.refused
	case dictionary:
		m.child(headerOf).child(dataOf).buffers()
	case batch:
		m.child(headerOf).buffers()
	default:
		return errors.New("a message is of no kind that is known")
	}
	return nil
}

// An arrowTable is a table of a message.
type arrowTable struct{ flatbuffers.Table }

func arrowRoot(message []byte) arrowTable {
	return arrowTable{flatbuffers.Table{Bytes: message, Pos: flatbuffers.GetUOffsetT(message)}}
}

func (t arrowTable) child(slot flatbuffers.VOffsetT) arrowTable {
	return arrowTable{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(t.Pos + flatbuffers.UOffsetT(t.Offset(slot)))}}
}

func (t arrowTable) number(slot flatbuffers.VOffsetT) byte {
	if at := t.Offset(slot); at != 0 {
		return t.GetByte(t.Pos + flatbuffers.UOffsetT(at))
	}
	return 0
}

// buffers checks where a record batch says that its columns are.
func (t arrowTable) buffers() {
	const nodesOf, buffersOf, variadicOf, size = 6, 8, 12, 16
	t.length(nodesOf, size)
	t.length(buffersOf, size)
	t.length(variadicOf, size/2)
}

// length returns how many items of a size a vector has. It panics if it says more than there can be.
func (t arrowTable) length(slot flatbuffers.VOffsetT, size int) int {
	at := flatbuffers.UOffsetT(t.Offset(slot))
	if at == 0 {
		return 0
	}
	n := t.VectorLen(at)
	_ = t.Bytes[:int(t.Vector(at))+size*n]
	return n
}

// columns checks the columns of a schema.
func (t arrowTable) columns() error {
	const fieldsOf, metadataOf = 6, 8                                // slots of a schema
	const nameOf, kindOf, childrenOf, fieldMetadataOf = 4, 8, 14, 16 // slots of a field
	plain := []byte{2, 3, 4, 5, 6, 8, 10, 20}                        // numbers, bytes, texts, booleans, dates, times
	n := t.length(fieldsOf, 4)
	if t.length(metadataOf, 4); n > MaxColumns {
		return fmt.Errorf("the file has %d columns; at most %d are read", n, MaxColumns)
	}
	fields := t.Vector(flatbuffers.UOffsetT(t.Offset(fieldsOf)))
	for i := range n {
		field := arrowTable{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(fields + flatbuffers.UOffsetT(4*i))}}
		field.length(fieldMetadataOf, 4)
		if !slices.Contains(plain, field.number(kindOf)) || field.length(childrenOf, 4) > 0 {
			name := field.String(field.Pos + flatbuffers.UOffsetT(field.Offset(nameOf)))
			return fmt.Errorf("column %s has a type that is not read", Printable(name, 40))
		}
	}
	return nil
}
