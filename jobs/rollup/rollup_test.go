package rollup

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

var member = schema.Member{Device: "d1", Tenant: "contoso", Month: schema.Month{Year: 2026, Month: 11}}

// number is a sample of one sensor.
func number(at tables.Ticks, sensor string, n float64) fold.Sample {
	return fold.Sample{Key: schema.RowKey{Ticks: at},
		Values: []fold.SensorValue{{Sensor: sensor, Number: n, Is: fold.Number}}}
}

// outputs folds samples cut into calls of the given lengths, and gives what is written then, as storage would have it.
func outputs(t testing.TB, f *Fold, samples []fold.Sample, cut func() int) map[fold.Output]map[string]Aggregate {
	t.Helper()
	written := map[fold.Output]map[string]Aggregate{}
	closed := map[fold.Output]bool{}
	var state []byte
	for len(samples) > 0 {
		n := min(cut(), len(samples))
		folded := must.Have(f.Fold(member, state, samples[:n]))(t)
		state, samples = folded.State, samples[n:]
		for _, e := range folded.Effects {
			if closed[e.Output] {
				t.Fatalf("%v is written after it was closed", e.Output)
			}
			closed[e.Output] = e.Closed
			if e.Properties == nil {
				continue
			}
			if len(e.Properties) == 0 { // it is emptied, or stays away
				delete(written, e.Output)
				continue
			}
			written[e.Output] = map[string]Aggregate{}
			for _, p := range e.Properties {
				if p.Name == fold.ReadingsProperty {
					written[e.Output][p.Name] = Aggregate{Count: p.Value.Int()}
					continue
				}
				a := must.Have(ParseAggregate(p.Value.Text()))(t)
				written[e.Output][p.Name] = a
			}
		}
	}
	return written
}

func whole() int { return math.MaxInt }

// brute computes what outputs should be, one bucket and sensor at a time.
func brute(samples []fold.Sample, windows ...schema.Window) map[fold.Output]map[string]Aggregate {
	want := map[fold.Output]map[string]Aggregate{}
	readings := map[fold.Output]int64{}
	for _, w := range windows {
		for _, s := range samples {
			counts := false
			start := w.Start(s.Key.Ticks)
			at := fold.Output{Table: Table,
				PartitionKey: fmt.Sprintf("contoso!%s!%s!2026-11", w, start.Time().Format(time.DateOnly)),
				RowKey:       "d1!" + start.String()}
			for _, v := range s.Values {
				if v.Is != fold.Number || v.Doubtful {
					continue
				}
				if want[at] == nil {
					want[at] = map[string]Aggregate{}
				}
				a, n := want[at][v.Sensor], v.Number
				if a.Count == 0 {
					a = Aggregate{Min: n, Max: n, First: n}
				}
				want[at][v.Sensor] = Aggregate{a.Count + 1, a.Sum + n, math.Min(a.Min, n), math.Max(a.Max, n), a.First, n}
				counts = true
			}
			if counts {
				readings[at]++
			}
		}
	}
	for at, n := range readings {
		most := int64(0)
		for _, a := range want[at] {
			most = max(most, a.Count)
		}
		if n > most {
			want[at][fold.ReadingsProperty] = Aggregate{Count: n}
		}
	}
	return want
}

// walk makes samples of a few sensors, at times that jump from seconds to days.
func walk(random *rand.Rand, n int) (samples []fold.Sample) {
	at := tables.TicksOf(time.Date(2026, 11, 20, 23, 50, 0, 0, time.UTC))
	for range n {
		at = at.Add(time.Duration(math.Pow(10, random.Float64()*random.Float64()*14)))
		s := fold.Sample{Key: schema.RowKey{Ticks: at + 1}}
		at++
		for i := range 3 {
			m := fold.SensorValue{Sensor: fmt.Sprint("s", i), Is: fold.Number,
				Number: math.Round(random.NormFloat64()*1e4) / 1e3}
			switch random.IntN(8) {
			case 0:
				continue
			case 1:
				m.Is, m.State = fold.State, "open"
			case 2:
				m.Doubtful = true
			}
			s.Values = append(s.Values, m)
		}
		samples = append(samples, s)
	}
	return samples
}

func TestRollupsAreEqualHoweverTheWorkIsCut(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	windows := []schema.Window{schema.Minute, schema.Window(15 * time.Minute), schema.Hour, schema.Daily}
	f := newFold(windows...)
	for range 30 {
		samples := walk(random, 300)
		want := brute(samples, windows...)
		for name, cut := range map[string]func() int{
			"in one": whole, "one by one": func() int { return 1 }, "at random": func() int { return 1 + random.IntN(50) },
		} {
			if got := outputs(t, f, samples, cut); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, cut %s: %d outputs are not the %d wanted, or differ from them", seed, name, len(got), len(want))
			}
		}
	}
}

func TestUnchangedBucketIsOnlyReportedClosed(t *testing.T) {
	f := newFold(schema.Minute)
	first, err := f.Fold(member, nil, []fold.Sample{number(0, "s", 1)})
	if err != nil || len(first.Effects) != 1 || first.Effects[0].Closed || first.Effects[0].Properties == nil {
		t.Fatalf("an open bucket gives %+v, %v", first.Effects, err)
	}
	second, err := f.Fold(member, first.State, []fold.Sample{number(tables.Ticks(schema.Minute/100), "s", 2)})
	if err != nil || len(second.Effects) != 2 || !second.Effects[0].Closed || second.Effects[0].Properties != nil ||
		second.Effects[0].Output != first.Effects[0].Output {
		t.Fatalf("the next bucket gives %+v, %v", second.Effects, err)
	}
	idle, err := f.Fold(member, second.State, nil)
	if err != nil || idle.Effects != nil || !bytes.Equal(idle.State, second.State) {
		t.Errorf("no samples give %+v, %v", idle.Effects, err)
	}
}

func TestSamplesOutOfOrderAreAnError(t *testing.T) {
	f := newFold(schema.Minute, schema.Hour, schema.Daily)
	folded := must.Have(f.Fold(member, nil, []fold.Sample{number(5, "s", 1)}))(t)
	for _, at := range []tables.Ticks{5, 4, 0} {
		if _, err := f.Fold(member, folded.State, []fold.Sample{number(at, "s", 1)}); err == nil {
			t.Errorf("a sample at %d after one at 5 is folded", at)
		}
	}
	if _, err := f.Fold(member, nil, []fold.Sample{number(0, "s", 1)}); err != nil {
		t.Errorf("the first tick of all: %v", err)
	}
}

func TestSensorsHaveABoundAndAreForgotten(t *testing.T) {
	f := newFold(schema.Minute)
	s := fold.Sample{Key: schema.RowKey{Ticks: 1}}
	for i := range fold.MaxSensors {
		s.Values = append(s.Values, fold.SensorValue{Sensor: fmt.Sprint("s", i), Is: fold.Number, Number: 1})
	}
	folded, err := f.Fold(member, nil, []fold.Sample{s, number(2, "late", 1)})
	if err != nil || len(folded.Refused) != 1 || folded.Refused[0].Sensor != "late" ||
		len(folded.Effects[0].Properties) != fold.MaxSensors {
		t.Fatalf("one sensor too many: refused %v, %v", folded.Refused, err)
	}
	next := number(tables.Ticks(schema.Minute/100), "late", 2)
	folded, err = f.Fold(member, folded.State, []fold.Sample{next})
	if err != nil || folded.Refused != nil {
		t.Errorf("in the next bucket: refused %v, %v", folded.Refused, err)
	}
}

// eight returns the maximum number of windows, some of minimal length.
func eight() (all []schema.Window) {
	for _, d := range []time.Duration{1, 2, 3, 60, 900, 3600, 21600, 86400} {
		all = append(all, schema.Window(d*time.Second))
	}
	return all
}

// crowd makes samples of new sensors all the time, whose names are of all lengths.
func crowd(random *rand.Rand, n, values int) (samples []fold.Sample) {
	at := tables.TicksOf(time.Date(2026, 11, 20, 23, 50, 0, 0, time.UTC))
	for range n {
		at = at.Add(time.Duration(1+random.IntN(600)) * time.Second)
		s := fold.Sample{Key: schema.RowKey{Ticks: at}}
		first := random.IntN(4000)
		for i := range values {
			name := fmt.Sprint("s", first+i)
			name += strings.Repeat("x", (first+i)*37%(200-len(name)))
			s.Values = append(s.Values, fold.SensorValue{Sensor: name, Is: fold.Number, Number: float64(random.IntN(1000))})
		}
		samples = append(samples, s)
	}
	return samples
}

// TestBucketsDependOnTheirOwnReadingsAlone: also where sensors are refused, cuts make no difference, and a fold that
// begins with a bucket gives the same.
func TestBucketsDependOnTheirOwnReadingsAlone(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	f := newFold(schema.Minute, schema.Hour, schema.Window(6*time.Hour), schema.Daily)
	for range 3 {
		samples := crowd(random, 80, 300)
		want := outputs(t, f, samples, whole)
		if got := outputs(t, f, samples, func() int { return 1 + random.IntN(20) }); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: cut at random, outputs differ", seed)
		}
		most := 0
		for at, sensors := range want {
			row := must.Have(schema.ParseRollupRow(at.RowKey))(t)
			p := must.Have(schema.ParseRollupPartition(at.PartitionKey))(t)
			most = max(most, len(sensors))
			if random.IntN(20) > 0 {
				continue
			}
			var own []fold.Sample
			for _, s := range samples {
				if p.Window.Start(s.Key.Ticks) == row.Bucket {
					own = append(own, s)
				}
			}
			if got := outputs(t, f, own, whole); !reflect.DeepEqual(got[at], sensors) {
				t.Fatalf("seed %d: %v alone differs", seed, at)
			}
		}
		if most < 300 {
			t.Errorf("at most %d sensors in a bucket", most)
		}
	}
}

func TestNoReadingsMakeAStateTooLarge(t *testing.T) {
	long := func(n int) (s fold.Sample) {
		s.Key = schema.RowKey{Ticks: tables.Ticks(n + 1), Suffix: strings.Repeat("x", 64)}
		for i := range fold.MaxSensors {
			name := fmt.Sprint("s", n, "_", i)
			s.Values = append(s.Values, fold.SensorValue{Sensor: name + strings.Repeat("n", n%(200-len(name))), Is: fold.Number,
				Number: 1})
		}
		return s
	}
	for _, windows := range [][]schema.Window{eight(), {schema.Daily}, {schema.Minute, schema.Hour, schema.Daily}} {
		f := newFold(windows...)
		for _, length := range []int{0, 40, 199} {
			var samples []fold.Sample
			for n := range 3 {
				samples = append(samples, long(200*n+length))
			}
			folded, err := f.Fold(member, nil, samples)
			if err != nil || len(folded.State) > maxState {
				t.Errorf("%d windows, names with %d more letters: a state of %d bytes, %v", len(windows), length, len(folded.State),
					err)
			}
			if refused := len(folded.Refused); refused > 3*(maxRefusals+1) {
				t.Errorf("%d refusals of 3 rows", refused)
			}
		}
	}
	f := newFold(schema.Minute, schema.Hour, schema.Daily)
	folded, err := f.Fold(member, nil, []fold.Sample{long(0)})
	if err != nil || folded.Refused != nil || len(folded.Effects[0].Properties) != fold.MaxSensors {
		t.Errorf("%d sensors: refused %v, %v", fold.MaxSensors, folded.Refused, err)
	}
}

func TestSumNeverLeavesTheNumbers(t *testing.T) {
	var a Aggregate
	for range 3 {
		a.Add(math.MaxFloat64)
	}
	if got, err := ParseAggregate(a.String()); err != nil || got != a || got.Sum != math.MaxFloat64 {
		t.Errorf("%s is read as %v, %v", a, got, err)
	}
}

func TestWindowsAreChecked(t *testing.T) {
	for _, windows := range [][]schema.Window{{schema.Window(7 * time.Minute)}, {schema.Hour, schema.Hour},
		{schema.Window(48 * time.Hour)}, {-schema.Hour}, {}, slices.Repeat([]schema.Window{schema.Hour}, 9)} {
		if (&Config{windows}).Check() == nil {
			t.Errorf("%v is taken", windows)
		}
	}
}

// FuzzState: no state crashes the fold, and what is read is written the same.
func FuzzState(f *testing.F) {
	fold := newFold(schema.Minute, schema.Hour, schema.Daily)
	folded := must.Have(fold.Fold(member, nil, walk(rand.New(rand.NewPCG(1, 1)), 20)))(f)
	f.Add(folded.State)
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := fold.decode(b)
		if err != nil {
			return
		}
		again, err := fold.decode(fold.encode(s))
		if err != nil || !equal(fold, s, again) {
			t.Fatalf("%x is read as %+v, and back as %+v, %v", b, s, again, err)
		}
	})
}

// equal compares states by their encodings, since a damaged one may hold NaN.
func equal(f *Fold, a, b *state) bool { return bytes.Equal(f.encode(a), f.encode(b)) }

func BenchmarkFold(b *testing.B) {
	f := newFold(schema.Minute, schema.Hour, schema.Daily)
	samples := make([]fold.Sample, 1000)
	for i := range samples {
		samples[i] = number(tables.Ticks(i)*1e7, "temperature", float64(i))
		samples[i].Values = append(samples[i].Values, fold.SensorValue{Sensor: "humidity", Is: fold.Number, Number: 50})
	}
	for b.Loop() {
		must.Have(f.Fold(member, nil, samples))(b)
	}
	b.ReportMetric(float64(b.N)*float64(len(samples))/b.Elapsed().Seconds(), "rows/s")
}
