package formats

import (
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A record batch ends at whichever comes first.
const (
	batchLines = 8192
	batchText  = 512 << 10 // bytes
)

type arrowWriter struct {
	w       io.Writer
	out     *ipc.Writer
	builder *array.RecordBuilder
	columns []Column
	lines   int
	text    int // bytes of texts
}

func newArrow(w io.Writer, columns []Column) *arrowWriter {
	var fields []arrow.Field
	for _, c := range columns {
		fields = append(fields, arrow.Field{Name: c.Name, Type: c.Type.arrow(), Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	return &arrowWriter{w: w, out: ipc.NewWriter(w, ipc.WithSchema(schema)),
		builder: array.NewRecordBuilder(memory.DefaultAllocator, schema), columns: columns}
}

// arrow returns the type in Arrow. Times are in microseconds: in nanoseconds they would end in the year 2262, and a
// device's clock may not.
func (t Type) arrow() arrow.DataType {
	switch t {
	case Number:
		return arrow.PrimitiveTypes.Float64
	case Count:
		return arrow.PrimitiveTypes.Int64
	case Time:
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	case Flag:
		return arrow.FixedWidthTypes.Boolean
	}
	return arrow.BinaryTypes.String
}

func (a *arrowWriter) Row(r Row) (err error) {
	r.Lines(func(cells []Cell) {
		for i := range cells {
			a.append(a.builder.Field(i), &cells[i])
		}
		if a.lines++; a.lines == batchLines || a.text >= batchText {
			if e := a.flush(); e != nil {
				err = e
			}
		}
	})
	return err
}

func (a *arrowWriter) append(to array.Builder, v *Cell) {
	if !v.has {
		to.AppendNull()
		return
	}
	switch to := to.(type) {
	case *array.Float64Builder:
		to.Append(v.number)
	case *array.Int64Builder:
		to.Append(v.count)
	case *array.TimestampBuilder:
		to.Append(arrow.Timestamp(v.time.UnixMicro()))
	case *array.BooleanBuilder:
		to.Append(v.count != 0)
	case *array.StringBuilder:
		to.Append(strings.ToValidUTF8(v.text, "\ufffd"))
		a.text += len(v.text)
	}
}

func (a *arrowWriter) flush() error {
	batch := a.builder.NewRecordBatch()
	defer batch.Release()
	a.lines, a.text = 0, 0
	return a.out.Write(batch)
}

// End also writes the schema of an answer without rows.
func (a *arrowWriter) End() error {
	if a.lines > 0 {
		if err := a.flush(); err != nil {
			return err
		}
	}
	a.builder.Release()
	return a.out.Close()
}

// Break begins a message of 256 bytes and writes only a few of them. A reader takes the end of its input for the end of
// the stream between two messages, and also after the length of one.
func (a *arrowWriter) Break(string) error {
	if a.lines > 0 {
		if err := a.flush(); err != nil {
			return err
		}
	}
	a.builder.Release()
	begun := [24]byte{0xff, 0xff, 0xff, 0xff, 0, 1}
	_, err := a.w.Write(begun[:])
	return err
}
