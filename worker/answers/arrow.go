package answers

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
	out     *ipc.Writer
	builder *array.RecordBuilder
	columns *columns
	lines   int
	text    int // bytes of texts
}

func newArrow(w io.Writer, columns *columns) *arrowWriter {
	var fields []arrow.Field
	for _, c := range columns.all {
		fields = append(fields, arrow.Field{Name: c.name, Type: c.arrow(), Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	return &arrowWriter{out: ipc.NewWriter(w, ipc.WithSchema(schema)),
		builder: array.NewRecordBuilder(memory.DefaultAllocator, schema), columns: columns}
}

// arrow returns a column's type in Arrow. Times are in microseconds: in nanoseconds they would end in the year 2262,
// and a device's clock may not. Names that repeat from line to line are in a dictionary of each record batch.
func (c *column) arrow() arrow.DataType {
	switch c.kind {
	case number:
		return arrow.PrimitiveTypes.Float64
	case count:
		return arrow.PrimitiveTypes.Int64
	case moment:
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	case flag:
		return arrow.FixedWidthTypes.Boolean
	}
	switch c.name {
	case "device", "sensor", "tenant", "site", "unit":
		return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}
	}
	return arrow.BinaryTypes.String
}

func (a *arrowWriter) Row(row any) error {
	return a.columns.lines(row, func(cells []cell) error {
		for i := range cells {
			if err := a.append(a.builder.Field(i), &cells[i]); err != nil {
				return err
			}
		}
		if a.lines++; a.lines == batchLines || a.text >= batchText {
			return a.flush()
		}
		return nil
	})
}

func (a *arrowWriter) append(to array.Builder, v *cell) error {
	if !v.has {
		to.AppendNull()
		return nil
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
		text := strings.ToValidUTF8(v.csv(), "\ufffd")
		to.Append(text)
		a.text += len(text)
	case *array.BinaryDictionaryBuilder:
		return to.AppendString(strings.ToValidUTF8(v.csv(), "\ufffd"))
	}
	return nil
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
