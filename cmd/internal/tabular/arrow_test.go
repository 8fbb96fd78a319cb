package tabular

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	columns "github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"furrow/tables/azuretest/must"
)

// streamOf returns a stream of Arrow with columns of several types.
func streamOf(t testing.TB) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "device", Type: &arrow.DictionaryType{
		IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}},
		{Name: "time", Type: arrow.FixedWidthTypes.Timestamp_us}, {Name: "n", Type: arrow.PrimitiveTypes.Int64},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64}, {Name: "on", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	b := columns.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range 3 {
		must.Succeed(t, b.Field(0).(*columns.BinaryDictionaryBuilder).AppendString("d-1"))
		b.Field(1).(*columns.TimestampBuilder).Append(arrow.Timestamp(1735689600123456 + int64(i)))
		b.Field(2).(*columns.Int64Builder).Append(1<<53 + 1)
		b.Field(3).(*columns.Float64Builder).Append(1.5)
		b.Field(4).(*columns.BooleanBuilder).Append(i == 0)
		b.Field(5).(*columns.StringBuilder).AppendNull()
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	must.Succeed(t, w.Write(b.NewRecordBatch()))
	must.Succeed(t, w.Close())
	return out.Bytes()
}

func TestStreamsOfArrowAreRead(t *testing.T) {
	f := must.Have(Open(bytes.NewReader(streamOf(t)), Options{}))(t)
	r := must.Have(f.Next())(t)
	want := Record{{"d-1", '"'}, {"2025-01-01T00:00:00.123456Z", '"'}, {"9007199254740993", '0'}, {"1.5", '0'},
		{"true", 't'}, {}}
	for i, cell := range want {
		if r[i] != cell {
			t.Errorf("column %s is %v; want %v", f.Names[i], r[i], cell)
		}
	}
	for range 2 {
		must.Have(f.Next())(t)
	}
	if _, err := f.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// TestACutStreamOfArrowIsAnError: only between two messages may a stream end.
func TestACutStreamOfArrowIsAnError(t *testing.T) {
	whole := streamOf(t)
	var ends []int // of messages
	for in := (&arrowStream{in: bufio.NewReader(bytes.NewReader(whole))}); ; {
		if err := in.message(); err != nil {
			break
		}
		at := int64(len(in.ahead)) + in.body
		if len(ends) > 0 {
			at += int64(ends[len(ends)-1])
		}
		ends = append(ends, int(at))
		must.Have(io.CopyN(io.Discard, in, int64(len(in.ahead))+in.body))(t)
	}
	for n := len(arrowMagic); n < len(whole); n++ {
		f, err := Open(bytes.NewReader(whole[:n]), Options{})
		for err == nil {
			_, err = f.Next()
		}
		if err == io.EOF && !slices.Contains(ends, n) {
			t.Errorf("with %d bytes of %d it ends as if it were whole", n, len(whole))
		}
	}
}

// FuzzArrow: a damaged stream is an error, never a panic, and takes no more memory than it may.
func FuzzArrow(f *testing.F) {
	whole := streamOf(f)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	debug.SetGCPercent(20)
	f.Fuzz(func(t *testing.T, b []byte) {
		if !bytes.HasPrefix(b, []byte(arrowMagic)) {
			return
		}
		before := taken()
		r, err := Open(bytes.NewReader(b), Options{})
		for n := 0; err == nil && n < 10_000; n++ {
			_, err = r.Next()
			if _, wrong := errors.AsType[*LineError](err); wrong {
				err = nil
			}
		}
		if grown := taken() - before; grown > 64<<20 {
			t.Errorf("it takes %d MiB", grown>>20)
		}
	})
}
