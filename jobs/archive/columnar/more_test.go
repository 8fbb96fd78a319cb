package columnar

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/parquet-go/parquet-go"
)

var noon = tables.TicksOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))

// TestSensorsBeyondTheColumnsComeBack exactly, with values of every kind and names that look like others with a suffix.
func TestSensorsBeyondTheColumnsComeBack(t *testing.T) {
	const columns = 2000
	series := []NamedSeries{{Series{Kind: More}, "more"}}
	for n := range columns {
		series = append(series, NamedSeries{Series{Sensor: fmt.Sprint("s", n)}, fmt.Sprint("s", n)})
	}
	numbers := []float64{0.1, math.Copysign(0, -1), math.MaxFloat64, 5e-324, 1e21, math.NaN(), math.Inf(1),
		math.Inf(-1), 1 << 53, 0}
	var want []fold.Sample
	for n := range 3 {
		s := fold.Sample{Key: schema.RowKey{Ticks: noon + tables.Ticks(n)}}
		for i := range columns + 100 {
			s.Values = append(s.Values, fold.SensorValue{Sensor: fmt.Sprint("s", i), Is: fold.Number,
				Number: numbers[(i+n)%len(numbers)]})
		}
		for _, name := range []string{"a", "a_long", "a_text", "a_bytes", "a_double", "_text", `"\ä` + "\x00"} {
			s.Values = append(s.Values, fold.SensorValue{Sensor: name, Is: fold.Number, Number: float64(n)},
				fold.SensorValue{Sensor: name + "!", Is: fold.State, State: "\x00\"ä\u2028" + name},
				fold.SensorValue{Sensor: name + "?", Is: fold.Number, Number: math.MinInt64})
			s.Exact = append(s.Exact, fold.ExactValue{Sensor: name + "?", Value: tables.Int64(math.MinInt64)},
				fold.ExactValue{Sensor: name + "*", Value: tables.Binary([]byte{0, 255, byte(n)})})
		}
		s.Values = append(s.Values, fold.SensorValue{Sensor: "text", Is: fold.State, State: ""})
		want = append(want, s)
	}
	want = append(want, fold.Sample{Key: schema.RowKey{Ticks: noon + 3}, Values: []fold.SensorValue{{Sensor: "s1",
		Is: fold.Number, Number: 1}}})
	var file bytes.Buffer
	w := NewReadings(&file, series)
	for i := range want {
		must.Succeed(t, w.Write("d", nil, &want[i]))
	}
	must.Succeed(t, w.Close())
	f := must.Have(parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len())))(t)
	if told, _ := f.Lookup(SeriesKey); len(f.Schema().Columns()) != firstSeries+columns+1 || len(told) > 100*columns {
		t.Errorf("%d columns, described in %d bytes", len(f.Schema().Columns()), len(told))
	}
	r := must.Have(OpenReadings(bytes.NewReader(file.Bytes()), int64(file.Len())))(t)
	for i := range want {
		got := must.Have(r.Next())(t)
		if is, wanted := comparable(got.Sample), comparable(want[i]); !reflect.DeepEqual(is, wanted) {
			t.Errorf("reading %d is\n%q,\nwant\n%q", i, is, wanted)
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last: %v", err)
	}
}

// comparable returns the values of a sample, in an order of their own, with all bits of numbers.
func comparable(s fold.Sample) (all []string) {
	for _, v := range s.Values {
		all = append(all, fmt.Sprint(v.Sensor, v.Is, math.Float64bits(v.Number), v.State, v.Doubtful))
	}
	for _, x := range s.Exact {
		all = append(all, fmt.Sprint(x.Sensor, x.Value.Type(), x.Value))
	}
	slices.SortFunc(all, cmp.Compare)
	return all
}

// FuzzNamesOfSensorsBeyond: a name in the object is of one sensor and kind.
func FuzzNamesOfSensorsBeyond(f *testing.F) {
	f.Add("a", uint8(0))
	f.Add("a_long_double", uint8(1))
	f.Fuzz(func(t *testing.T, sensor string, kind uint8) {
		want := Series{Sensor: sensor, Kind: Kind(kind % 4)}
		if got, _ := moreSeries(moreName(want)); got != want {
			t.Errorf("%+v has the name %q, which is of %+v", want, moreName(want), got)
		}
	})
}
