package tabular

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	columns "github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"furrow/tables/azuretest/must"
)

// A measured row has the kinds of columns that writers of Parquet use.
type measured struct {
	Device  string    `parquet:"device"`
	At      time.Time `parquet:"at,timestamp(millisecond)"`
	Micros  int64     `parquet:"micros,timestamp(microsecond)"`
	Day     int32     `parquet:"day,date"`
	Temp    *float64  `parquet:"temp,optional"`
	Single  float32   `parquet:"single"`
	Open    bool      `parquet:"open"`
	Count   uint32    `parquet:"count"`
	Big     int64     `parquet:"big"`
	Price   int64     `parquet:"price,decimal(2:9)"`
	List    []int32   `parquet:"list,list"`
	Texts   []string  `parquet:"texts,list"`
	Bytes   []byte    `parquet:"bytes"`
	Station struct {
		Site string `parquet:"site,dict"`
	} `parquet:"station"`
}

func measuredFile(t testing.TB, rows int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[measured](&b, parquet.MaxRowsPerRowGroup(100), parquet.Compression(&parquet.Snappy))
	for n := range rows {
		temp := float64(n) + 0.5
		m := measured{Device: "d", At: time.Date(2026, 11, 20, 10, 0, n, 5e6, time.UTC), Micros: int64(n)*1e6 + 1,
			Day: 20_000, Temp: &temp, Single: 0.1, Open: n%2 == 0, Count: 1 << 31, Big: 1<<62 + 1, Price: -1205,
			List: []int32{1, 2}, Texts: []string{"", "a"}, Bytes: []byte{0xff, 1}}
		if m.Station.Site = "hall"; n == 1 {
			m.Temp, m.List, m.Texts, m.Bytes, m.Station.Site = nil, nil, nil, nil, ""
		}
		must.Have(w.Write([]measured{m}))(t)
	}
	must.Succeed(t, w.Close())
	return b.Bytes()
}

// all reads a file to its end, and returns the texts of its rows by column.
func all(t *testing.T, in io.Reader) (rows []map[string]string) {
	t.Helper()
	f := must.Have(Open(in, Options{}))(t)
	for {
		r, err := f.Next()
		if errors.Is(err, io.EOF) {
			must.Succeed(t, f.Close())
			return rows
		}
		must.Succeed(t, err)
		row := map[string]string{}
		for i, cell := range r {
			if !cell.IsBlank() {
				row[f.Names[i]] = string(cell.Kind) + cell.Text
			}
		}
		if rows = append(rows, row); f.Line != len(rows) {
			t.Errorf("row %d has the number %d", len(rows), f.Line)
		}
	}
}

func TestParquetHasTheValuesOfItsColumns(t *testing.T) {
	whole := measuredFile(t, 250)
	path := filepath.Join(t.TempDir(), "measured.parquet")
	must.Succeed(t, os.WriteFile(path, whole, 0o600))
	file := must.Have(os.Open(path))(t)
	defer file.Close()
	for name, in := range map[string]io.Reader{"file": file, "stream": bytes.NewReader(whole)} {
		rows := all(t, in)
		want := map[string]string{"device": `"d`, "at": `"2026-11-20T10:00:00.005Z`, "micros": `"1970-01-01T00:00:00.000001Z`,
			"day": `"2024-10-04`, "temp": "00.5", "single": "00.1", "open": "ttrue", "count": "02147483648",
			"big": "04611686018427387905", "price": "0-12.05", "list": "[[1,2]", "texts": `[["","a"]`, "bytes": `"/wE=`, "station.site": `"hall`}
		if len(rows) != 250 {
			t.Fatalf("%s: %d rows", name, len(rows))
		}
		for column, text := range want {
			if rows[0][column] != text {
				t.Errorf("%s: %s is %q, want %q", name, column, rows[0][column], text)
			}
		}
		for _, column := range []string{"temp", "bytes", "station.site"} {
			if text, is := rows[1][column]; is {
				t.Errorf("%s: %s is %q, want nothing", name, column, text)
			}
		}
		if len(rows[0]) != len(want) || rows[249]["temp"] != "0249.5" {
			t.Errorf("%s: %v", name, rows[0])
		}
	}
}

// TestDamagedParquetIsAnError cuts a file, and changes every byte of its end.
func TestDamagedParquetIsAnError(t *testing.T) {
	whole := measuredFile(t, 3)
	read := func(b []byte) (err error) {
		f, err := Open(bytes.NewReader(b), Options{})
		for err == nil {
			_, err = f.Next()
		}
		if f != nil {
			_ = f.Close()
		}
		return err
	}
	for _, b := range [][]byte{whole[:len(whole)/2], whole[:5]} {
		if err := read(b); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("a file of %d bytes of %d: %v", len(b), len(whole), err)
		}
	}
	for i := 4; i < len(whole); i += 3 {
		changed := slices.Clone(whole)
		changed[i] ^= 0x55
		_ = read(changed) // it neither panics nor blocks
	}
}

// FuzzParquet reads damaged files: they are errors, and take a bounded amount of memory.
func FuzzParquet(f *testing.F) {
	f.Add(measuredFile(f, 3))
	for _, file := range must.Have(filepath.Glob("../readings/testdata/cases/*.parquet"))(f) {
		f.Add(must.Have(os.ReadFile(file))(f))
	}
	debug.SetGCPercent(20)
	f.Fuzz(func(t *testing.T, b []byte) {
		if !bytes.HasPrefix(b, []byte(parquetMagic)) {
			return
		}
		before := taken()
		in, err := Open(bytes.NewReader(b), Options{})
		for n := 0; err == nil && n < 10_000; n++ {
			_, err = in.Next()
			if _, wrong := errors.AsType[*LineError](err); wrong {
				err = nil
			}
		}
		if in != nil {
			must.Succeed(t, in.Close())
		}
		if grown := taken() - before; grown > 64<<20 {
			t.Errorf("it takes %d MiB", grown>>20)
		}
	})
}

// taken returns the memory that the process has ever got from the system.
func taken() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapSys)
}

// TestAnInfinityInAListRefusesItsRowAlone: the lists of the rows after it keep their places.
func TestAnInfinityInAListRefusesItsRowAlone(t *testing.T) {
	type point struct {
		X float64 `parquet:"x"`
		Y float64 `parquet:"y"`
	}
	type listed struct {
		List   []float64          `parquet:"list,list"`
		Points []point            `parquet:"points,list"`
		Map    map[string]float64 `parquet:"map"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[listed](&b)
	for _, n := range []float64{1, math.Inf(1), 2} {
		row := listed{[]float64{n, 7, 8}, []point{{n, 7}, {8, 9}}, map[string]float64{"a": n, "b": 7}}
		must.Have(w.Write([]listed{row}))(t)
	}
	must.Succeed(t, w.Close())
	f := must.Have(Open(bytes.NewReader(b.Bytes()), Options{}))(t)
	for row, n := range []string{"1", "", "2"} {
		r, err := f.Next()
		if n == "" {
			if _, is := errors.AsType[*LineError](err); !is {
				t.Errorf("row %d: %v", row+1, err)
			}
			continue
		}
		must.Succeed(t, err)
		want := Record{{"[" + n + ",7,8]", '['}, {`[{"x":` + n + `,"y":7},{"x":8,"y":9}]`, '['},
			{`{"a":` + n + `,"b":7}`, '{'}}
		if !slices.Equal(r, want) {
			t.Errorf("row %d is %q, want %q", row+1, r, want)
		}
	}
	must.Succeed(t, f.Close())
}

// TestTimesOfINT96AreOfTheirYear, also beyond those that nanoseconds in 64 bits have: programs write the year 9999 for
// no end.
func TestTimesOfINT96AreOfTheirYear(t *testing.T) {
	type valid struct {
		Until deprecated.Int96 `parquet:"until"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[valid](&b)
	times := map[uint32]string{5373484: "9999-12-31T00:00:00.000000001Z", 2460677: "2025-01-01T00:00:00.000000001Z",
		1721426: "0001-01-01T00:00:00.000000001Z", 2670691: "2600-01-01T00:00:00.000000001Z"}
	days := slices.Sorted(maps.Keys(times))
	for _, day := range days {
		must.Have(w.Write([]valid{{deprecated.Int96{1, 0, day}}}))(t)
	}
	must.Succeed(t, w.Close())
	for i, row := range all(t, bytes.NewReader(b.Bytes())) {
		if want := `"` + times[days[i]]; row["until"] != want {
			t.Errorf("day %d is %s, want %s", days[i], row["until"], want)
		}
	}
}

// TestTextsThatAreNotUTF8AreRefused: read as something else, they would be other texts in silence.
func TestTextsThatAreNotUTF8AreRefused(t *testing.T) {
	type named struct {
		Name  string   `parquet:"name"`
		Names []string `parquet:"names,list"`
	}
	const latin = "M\xfcnchen"
	var inParquet, inArrow bytes.Buffer
	w := parquet.NewGenericWriter[named](&inParquet)
	first := named{"a", []string{"b"}}
	must.Have(w.Write([]named{first, {latin, nil}, {"c", []string{latin, "d"}}, first}))(t)
	must.Succeed(t, w.Close())
	schema := arrow.NewSchema([]arrow.Field{{Name: "name", Type: arrow.BinaryTypes.String}}, nil)
	b := columns.NewRecordBuilder(memory.DefaultAllocator, schema)
	for _, name := range []string{"a", latin, latin, "a"} {
		b.Field(0).(*columns.StringBuilder).Append(name)
	}
	s := ipc.NewWriter(&inArrow, ipc.WithSchema(schema))
	must.Succeed(t, s.Write(b.NewRecordBatch()))
	must.Succeed(t, s.Close())
	for _, in := range []io.Reader{bytes.NewReader(inParquet.Bytes()), &inArrow} {
		f := must.Have(Open(in, Options{}))(t)
		for n, refused := range []bool{false, true, true, false} {
			r, err := f.Next()
			_, is := errors.AsType[*LineError](err)
			if is != refused || is && !strings.Contains(err.Error(), `"M\xfcnchen"`) {
				t.Errorf("row %d of %s: %v, %v", n+1, f.Format, r, err)
			} else if !refused && r[0].Text != "a" {
				t.Errorf("row %d of %s is %v", n+1, f.Format, r)
			}
		}
		must.Succeed(t, f.Close())
	}
}
