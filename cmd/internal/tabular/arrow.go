package tabular

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	columns "github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/go-json-experiment/json/jsontext"
)

// arrowMagic begins a stream of Arrow: the mark before the length of its first message.
const arrowMagic = "\xff\xff\xff\xff"

// An arrowReader reads the rows of a stream of Arrow.
type arrowReader struct {
	*Reader
	stream *ipc.Reader
	memory *bounded
	batch  arrow.RecordBatch
	row    int
}

func (f *Reader) openArrow(in *bufio.Reader) (err error) {
	defer rescue(&err, "stream of Arrow")
	a := &arrowReader{Reader: f, memory: &bounded{Allocator: memory.DefaultAllocator}}
	checked := &arrowStream{in: in}
	if a.stream, err = ipc.NewReader(checked, ipc.WithAllocator(a.memory)); checked.refused != nil {
		return checked.refused
	}
	if err != nil {
		return fmt.Errorf("the stream of Arrow is damaged: %w", err)
	}
	for _, field := range a.stream.Schema().Fields() {
		if !readable(field.Type) {
			return fmt.Errorf("column %s has the type %s, which is not read", field.Name, field.Type)
		}
		f.Names, f.Types = append(f.Names, field.Name), append(f.Types, field.Type.String())
	}
	if len(f.Names) > MaxColumns {
		return fmt.Errorf("the file has %d columns; at most %d are read", len(f.Names), MaxColumns)
	}
	f.Format, f.records = Arrow, a
	f.close = func() error { a.stream.Release(); return nil }
	return nil
}

func readable(t arrow.DataType) bool {
	if d, is := t.(*arrow.DictionaryType); is {
		t = d.ValueType
	}
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.BOOL, arrow.TIMESTAMP, arrow.DATE32, arrow.INT8,
		arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64, arrow.FLOAT32,
		arrow.FLOAT64:
		return true
	}
	return false
}

func (a *arrowReader) next() (r Record, err error) {
	defer rescue(&err, "stream of Arrow")
	for a.batch == nil || a.row == int(a.batch.NumRows()) {
		if a.memory.used = 0; !a.stream.Next() {
			if err := a.stream.Err(); err != nil && !errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("the stream of Arrow is damaged: %w", err)
			}
			return nil, io.EOF
		}
		a.batch, a.row = a.stream.RecordBatch(), 0
	}
	r = make(Record, a.batch.NumCols())
	a.Line++
	size := 0
	for i := range r {
		cell, err := arrowCell(a.batch.Column(i), a.row)
		if err != nil {
			a.row++
			return nil, &LineError{fmt.Errorf("column %s: %w", a.Names[i], err)}
		}
		r[i] = cell
		size += len(cell.Text)
	}
	a.row++
	if size > MaxLine {
		return nil, &LineError{fmt.Errorf("the row has more than %d bytes", MaxLine)}
	}
	return r, nil
}

func arrowCell(of arrow.Array, i int) (Cell, error) {
	if of.IsNull(i) {
		return Cell{}, nil
	}
	switch of := of.(type) {
	case *columns.Dictionary:
		return arrowCell(of.Dictionary(), of.GetValueIndex(i))
	case *columns.Float64:
		return float(of.Value(i), 64)
	case *columns.Float32:
		return float(float64(of.Value(i)), 32)
	case *columns.Boolean:
		return Cell{strconv.FormatBool(of.Value(i)), map[bool]jsontext.Kind{true: 't', false: 'f'}[of.Value(i)]}, nil
	case *columns.Binary:
		return Cell{base64.StdEncoding.EncodeToString(of.Value(i)), '"'}, nil
	case *columns.String:
		return textOf(of.Value(i))
	case *columns.LargeString:
		return textOf(of.Value(i))
	case *columns.Timestamp:
		t := of.DataType().(*arrow.TimestampType)
		layout := "2006-01-02T15:04:05.999999999"
		if t.TimeZone != "" {
			layout = time.RFC3339Nano
		}
		return Cell{of.Value(i).ToTime(t.Unit).UTC().Format(layout), '"'}, nil
	case *columns.Date32:
		return Cell{of.Value(i).FormattedString(), '"'}, nil
	}
	return Cell{of.ValueStr(i), '0'}, nil // a whole number
}

// mostBatch bounds the memory of a record batch, with what it refers to.
const mostBatch = 64 << 20

// A bounded allocator refuses what a damaged stream asks for.
type bounded struct {
	memory.Allocator
	used int // by the current batch
}

var errBatch = fmt.Errorf("a record batch takes more than %d MiB", mostBatch>>20)

func (b *bounded) Allocate(size int) []byte {
	if b.used += size; size < 0 || b.used > mostBatch {
		panic(errBatch)
	}
	return b.Allocator.Allocate(size)
}

func (b *bounded) Reallocate(size int, was []byte) []byte {
	if b.used += size - len(was); size < 0 || b.used > mostBatch {
		panic(errBatch)
	}
	return b.Allocator.Reallocate(size, was)
}
