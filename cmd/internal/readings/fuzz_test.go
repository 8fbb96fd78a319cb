package readings

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/go-json-experiment/json"

	"furrow/cmd/internal/tabular"
	"furrow/cmd/internal/times"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// mostMemory is what reading a file may take, beside the file.
const mostMemory = 64 << 20

// FuzzOpen reads files twice, with the same rows, and what it accepts in the form that Furrow writes.
func FuzzOpen(f *testing.F) {
	for _, file := range must.Have(filepath.Glob("testdata/cases/*"))(f) {
		f.Add(must.Have(os.ReadFile(file))(f))
	}
	f.Add(arrowStream(f))
	f.Add([]byte("m,host=a v=1i,s=\"x\" 1735689600000000000\n"))
	berlin := must.Have(times.ParseZone("Europe/Berlin"))(f)
	debug.SetGCPercent(20)
	f.Fuzz(func(t *testing.T, text []byte) {
		before := taken()
		rows, _, err := rowsOf(t, bytes.NewReader(text), Columns{})
		again, _, errAgain := rowsOf(t, bytes.NewReader(text), Columns{})
		if !slices.Equal(rows, again) || (err == nil) != (errAgain == nil) {
			t.Errorf("%q and %q, %v and %v", rows, again, err, errAgain)
		}
		if grown := taken() - before; grown > mostMemory {
			t.Errorf("it takes %d MiB", grown>>20)
		}
		sameInOurs(t, text, Columns{})
		sameInOurs(t, text, Columns{OneDevice: true, Decimal: ',', Terms: times.Terms{Zone: berlin, First: 1, Last: 9999},
			File: tabular.Options{Encoding: "windows-1252", Skip: 1}})
	})
}

// arrowStream returns a stream of Arrow with a text, a time and a number.
func arrowStream(t testing.TB) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "device", Type: arrow.BinaryTypes.String},
		{Name: "time", Type: arrow.FixedWidthTypes.Timestamp_ns}, {Name: "v", Type: arrow.PrimitiveTypes.Float64}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.StringBuilder).Append("d-1")
	b.Field(1).(*array.TimestampBuilder).Append(1735689600123456700)
	b.Field(2).(*array.Float64Builder).Append(21.5)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	must.Succeed(t, w.Write(b.NewRecordBatch()))
	must.Succeed(t, w.Close())
	return out.Bytes()
}

// taken returns the memory that the process has ever got from the system.
func taken() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapSys)
}

// sameInOurs writes the first rows of a file as queries do, and reads them again.
func sameInOurs(t *testing.T, text []byte, c Columns) {
	t.Helper()
	r, err := Open(bytes.NewReader(text), c)
	if err != nil {
		return
	}
	defer r.Close()
	type line struct {
		Device string         `json:"device"`
		Row    string         `json:"row"`
		Values map[string]any `json:"values"`
	}
	var ours bytes.Buffer
	var want []string
	for n := 0; n < 1000; n++ {
		row, err := r.Next()
		if _, wrong := errors.AsType[*tabular.LineError](err); wrong {
			continue
		}
		if err != nil {
			break
		}
		one := line{Device: cmp.Or(row.Device, "d"), Row: schema.RowKey{Ticks: row.Time, Suffix: fmt.Sprint(n)}.String(),
			Values: map[string]any{}}
		for _, v := range slices.Concat(row.Values, row.About) {
			one.Values[r.Sensors()[v.Sensor]] = v.Value
		}
		if _, bytes := one.Values[schema.DoubtfulProperty]; bytes || r.HasKeys() {
			return
		}
		must.Succeed(t, json.MarshalWrite(&ours, one, json.Deterministic(true)))
		ours.WriteByte('\n')
		want = append(want, fmt.Sprintf("%s %s %v", one.Device, one.Row, one.Values))
	}
	if len(want) == 0 {
		return
	}
	again := must.Have(Open(bytes.NewReader(ours.Bytes()), Columns{}))(t)
	defer again.Close()
	for _, want := range want {
		row, err := again.Next()
		if err != nil {
			t.Fatalf("%s becomes %v", want, err)
		}
		values := map[string]any{}
		for _, v := range slices.Concat(row.Values, row.About) {
			values[again.Sensors()[v.Sensor]] = v.Value
		}
		if got := fmt.Sprintf("%s %s %v", row.Device, row.Key, values); got != want {
			t.Fatalf("%s becomes %s", want, got)
		}
	}
	if _, err := again.Next(); err != io.EOF {
		t.Fatalf("after %s comes %v", strings.Join(want, "\n"), err)
	}
}
