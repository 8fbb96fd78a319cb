package columnar

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// written is a reading that a test writes.
type written struct {
	device string
	about  []string
	sample fold.Sample
}

// write writes readings with the columns that they need.
func write(t testing.TB, all []written, about ...string) (file []byte, w *Writer) {
	t.Helper()
	c := Columns{About: about}
	for i := range all {
		c.Add(&all[i].sample)
	}
	var b bytes.Buffer
	w = NewWriter(&b, c)
	for i := range all {
		must.Succeed(t, w.Write(all[i].device, all[i].about, &all[i].sample))
	}
	must.Succeed(t, w.Close())
	return b.Bytes(), w
}

func read(t testing.TB, file []byte) (all []Reading) {
	t.Helper()
	r := must.Have(Open(bytes.NewReader(file), int64(len(file))))(t)
	for {
		one, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		must.Succeed(t, err)
		all = append(all, one)
	}
}

var noon = tables.TicksOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))

// random returns readings of some devices with up to so many sensors.
func random(r *rand.Rand, devices, rows, sensors int) (all []written) {
	for d := range devices {
		for n := range rows {
			w := written{device: fmt.Sprintf("d%03d", d), about: []string{"", fmt.Sprint("hall ", d%3)}}
			w.sample.Key = schema.RowKey{Ticks: noon.Add(time.Duration(n) * time.Second), Suffix: []string{"", "b"}[n%2]}
			isDoubtful := r.IntN(20) == 0
			for s := range sensors {
				v := fold.SensorValue{Sensor: fmt.Sprint("s", s), Is: fold.Number, Number: math.Round(r.NormFloat64()*1e4) / 100,
					Doubtful: isDoubtful}
				switch what := r.IntN(10); {
				case what < 3:
					continue
				case what == 3 && s%3 == 0 || s%5 == 1:
					v.Is, v.Number, v.State = fold.State, 0, []string{"", "open", "ä\x00"}[r.IntN(3)]
				case what == 4:
					v.Number = []float64{math.MaxFloat64, math.Copysign(0, -1), 5e-324, 1e300}[r.IntN(4)]
				}
				w.sample.Values = append(w.sample.Values, v)
			}
			all = append(all, w)
		}
	}
	return all
}

// TestReadingsComeBack with their keys and values, in wide and in long form.
func TestReadingsComeBack(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	for name, all := range map[string][]written{
		"wide": random(rand.New(rand.NewPCG(seed, 1)), 20, 50, 12),
		"none": random(rand.New(rand.NewPCG(seed, 2)), 2, 3, 0),
		"long": random(rand.New(rand.NewPCG(seed, 3)), 2, 2, MaxColumns+500),
		"rows": random(rand.New(rand.NewPCG(seed, 4)), 3, 9000, 2),
	} {
		file, w := write(t, all, "site", "labels_hall")
		got := read(t, file)
		if len(got) != len(all) || w.Readings != int64(len(all)) {
			t.Fatalf("%s: %d readings, the writer counted %d, want %d", name, len(got), w.Readings, len(all))
		}
		if is := must.Have(Open(bytes.NewReader(file), int64(len(file))))(t).Columns.Long; is != (name == "long") {
			t.Errorf("%s: long form %v", name, is)
		}
		for i, want := range all {
			byName := func(a, b fold.SensorValue) int { return cmp.Compare(a.Sensor, b.Sensor) }
			slices.SortFunc(want.sample.Values, byName)
			slices.SortFunc(got[i].Values, byName)
			is := Reading{want.device, want.sample.Key.String(), want.sample.Key.Ticks.Time().UTC(), want.about,
				want.sample.Values}
			if fmt.Sprint(got[i]) != fmt.Sprint(is) {
				t.Fatalf("%s: reading %d is\n%v, want\n%v", name, i, got[i], is)
			}
		}
	}
}

// TestEqualReadingsMakeEqualFiles byte by byte, so that a hash shows whether a file changed.
func TestEqualReadingsMakeEqualFiles(t *testing.T) {
	all := random(rand.New(rand.NewPCG(1, 1)), 3, 100, 30)
	one, _ := write(t, all)
	two, _ := write(t, all)
	if !bytes.Equal(one, two) {
		t.Error("two files of the same readings differ")
	}
}

// TestColumnsHaveNamesOfTheirOwn whatever sensors are called, also for readers that ignore case.
func TestColumnsHaveNamesOfTheirOwn(t *testing.T) {
	c := Columns{About: []string{"site"}, Doubtful: true, Sensors: map[string]Kinds{"Device": Numbers, "key": Texts,
		"Date": Numbers, "site": Numbers, "oil": Numbers | Texts, "oil_text": Texts, "OIL": Numbers, "doubtful": Numbers}}
	var names []string
	for _, column := range c.list() {
		names = append(names, column.name)
	}
	want := []string{"device", "time", "key", "site", "doubtful", "Date_", "Device_", "OIL", "doubtful_", "key_", "oil_",
		"oil_text", "site_", "oil_text_"}
	if !reflect.DeepEqual(names, want) {
		t.Errorf("columns %q,\nwant %q", names, want)
	}
	w := written{device: "d", about: []string{"hall"}, sample: fold.Sample{Key: schema.RowKey{Ticks: noon}}}
	for sensor, kinds := range c.Sensors {
		if kinds&Numbers != 0 {
			w.sample.Values = append(w.sample.Values, fold.SensorValue{Sensor: sensor, Is: fold.Number, Number: 1,
				Doubtful: true})
		}
	}
	file, _ := write(t, []written{w}, "site")
	if got := read(t, file)[0]; len(got.Values) != len(w.sample.Values) {
		t.Errorf("%d values came back, want %d: %v", len(got.Values), len(w.sample.Values), got.Values)
	}
}

// TestColumnsThatHadNoValuesAreNotUsed so that the next file does without them.
func TestColumnsThatHadNoValuesAreNotUsed(t *testing.T) {
	c := Columns{Sensors: map[string]Kinds{"gone": Numbers, "oil": Numbers | Texts}, Doubtful: true}
	w := NewWriter(io.Discard, c)
	s := fold.Sample{Key: schema.RowKey{Ticks: noon}, Values: []fold.SensorValue{{Sensor: "oil", Is: fold.Number}}}
	must.Succeed(t, w.Write("d", nil, &s))
	if used := w.Used(); !reflect.DeepEqual(used, Columns{Sensors: map[string]Kinds{"oil": Numbers}}) {
		t.Errorf("used %v", used)
	}
}

// TestRowGroupsHaveStatistics and end with a device once they are large.
func TestRowGroupsHaveStatistics(t *testing.T) {
	all := random(rand.New(rand.NewPCG(1, 1)), 5, groupRows/2+1, 1)
	file, _ := write(t, all)
	f := must.Have(parquet.OpenFile(bytes.NewReader(file), int64(len(file))))(t)
	groups := f.Metadata().RowGroups
	if len(groups) != 3 {
		t.Fatalf("%d row groups", len(groups))
	}
	for i, g := range groups {
		is := g.Columns[0].MetaData.Statistics
		want := fmt.Sprintf("d%03d to d%03d", 2*i, min(2*i+1, 4))
		if fmt.Sprintf("%s to %s", is.MinValue, is.MaxValue) != want {
			t.Errorf("row group %d has the devices %s to %s, want %s", i, is.MinValue, is.MaxValue, want)
		}
		if len(g.SortingColumns) != 2 {
			t.Errorf("row group %d is sorted by %v", i, g.SortingColumns)
		}
	}
}

// TestManyColumnsTakeBoundedMemory however many rows there are.
func TestManyColumnsTakeBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine writes for a minute where races are looked for")
	}
	c := Columns{Sensors: map[string]Kinds{}}
	var names []string
	for i := range MaxColumns {
		names = append(names, fmt.Sprint("sensor", i))
		c.Sensors[names[i]] = Numbers
	}
	w := NewWriter(io.Discard, c)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most := int64(0)
	for n := range 2000 {
		s := fold.Sample{Key: schema.RowKey{Ticks: noon.Add(time.Duration(n) * time.Second)}}
		for i := n % 2; i < MaxColumns; i += 2 {
			s.Values = append(s.Values, fold.SensorValue{Sensor: names[i], Is: fold.Number, Number: rand.Float64()})
		}
		must.Succeed(t, w.Write("d", nil, &s))
		if n%500 == 499 {
			runtime.GC()
			runtime.ReadMemStats(&after)
			most = max(most, int64(after.HeapAlloc)-int64(before.HeapAlloc))
		}
	}
	t.Logf("%d MiB", most>>20)
	if most > 150<<20 {
		t.Errorf("%d MiB are held", most>>20)
	}
}

// TestNoTextIsInDeltaLengths: Spark 3.5 reads DELTA_LENGTH_BYTE_ARRAY wrongly, whatever number of columns there are.
func TestNoTextIsInDeltaLengths(t *testing.T) {
	for _, sensors := range []int{2, maxDictionaries + 1, MaxColumns + 1} {
		sample := fold.Sample{Key: schema.RowKey{Ticks: noon}}
		for n := range sensors {
			sample.Values = append(sample.Values, fold.SensorValue{Sensor: fmt.Sprint("s", n), Is: fold.State, State: "on"})
		}
		c := Columns{About: []string{"site"}}
		c.Add(&sample)
		var file bytes.Buffer
		w := NewWriter(&file, c)
		must.Succeed(t, w.Write("d", []string{"x"}, &sample))
		must.Succeed(t, w.Close())
		r := must.Have(parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len())))(t)
		for _, column := range r.Metadata().RowGroups[0].Columns {
			if slices.Contains(column.MetaData.Encoding, format.DeltaLengthByteArray) {
				t.Errorf("%d sensors: column %v is in %v", sensors, column.MetaData.PathInSchema, column.MetaData.Encoding)
			}
		}
	}
}

// TestDamagedFilesAreErrors: no byte that changed makes a reader panic or loop.
func TestDamagedFilesAreErrors(t *testing.T) {
	whole, _ := write(t, random(rand.New(rand.NewPCG(1, 1)), 2, 3, 3), "site", "x")
	for i := 0; i < len(whole); i += 11 {
		changed := slices.Clone(whole)
		changed[i] ^= 0x55
		r, err := Open(bytes.NewReader(changed), int64(len(changed)))
		for n := 0; err == nil && n < 100; n++ {
			_, err = r.Next()
		}
	}
	if _, err := Open(bytes.NewReader(whole[:len(whole)/2]), int64(len(whole)/2)); err == nil {
		t.Error("half a file was opened")
	}
}
