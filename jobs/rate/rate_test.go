package rate

import (
	"bytes"
	"fmt"
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

func newFold(over time.Duration, s fold.Sensors) *Fold {
	return (&Config{over}).Fold(fold.Setup{Sensors: s}).(*Fold)
}

func start() tables.Ticks { return tables.TicksOf(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)) }

func sample(at time.Duration, values ...any) fold.Sample {
	s := fold.Sample{Key: schema.RowKey{Ticks: start().Add(at)}}
	for i := 0; i < len(values); i += 2 {
		s.Values = append(s.Values, value(values[i].(string), values[i+1].(float64)))
	}
	return s
}

func value(sensor string, number float64) fold.SensorValue {
	return fold.SensorValue{Sensor: sensor, Is: fold.Number, Number: number}
}

// latest are the rates of the device's row after samples.
func latest(t *testing.T, f *Fold, samples ...fold.Sample) map[string]Latest {
	t.Helper()
	out := must.Have(f.Fold(member, nil, samples))(t)
	all := map[string]Latest{}
	for _, e := range out.Effects {
		if e.To != tables.MaxTicks {
			continue
		}
		clear(all)
		for _, p := range e.Properties {
			l := must.Have(ParseLatest(p.Value.Text()))(t)
			all[p.Name] = l
		}
	}
	return all
}

func TestDifferencesAreToTheReadingBeforeAndOverTheSpan(t *testing.T) {
	f := newFold(time.Hour, fold.Sensors{})
	var samples []fold.Sample
	for m := range 91 {
		samples = append(samples, sample(time.Duration(m)*time.Minute, "oil", float64(m)))
	}
	got := latest(t, f, samples...)["oil"]
	if got.Value != 90 || got.Step != (Change{1, 60}) || got.Span == nil || *got.Span != (Change{60, 60}) {
		t.Errorf("%+v, %+v", got, got.Span)
	}
	if got := latest(t, f, samples[:60]...)["oil"]; got.Span != nil {
		t.Errorf("before the span has passed: %+v", got.Span)
	}
	if got := latest(t, f, sample(0, "oil", 1.0), sample(25*time.Hour, "oil", 2.0)); len(got) != 0 {
		t.Errorf("after more than a day: %+v", got)
	}
	f = newFold(24*time.Hour, fold.Sensors{})
	got = latest(t, f, sample(0, "oil", 1.0), sample(5*time.Hour, "oil", 2.0), sample(25*time.Hour, "oil", 4.0))["oil"]
	if got.Span == nil || got.Span.Difference != 3 {
		t.Errorf("over a day: %+v", got)
	}
}

func TestACounterCountsFromZeroAfterAReset(t *testing.T) {
	samples := []fold.Sample{sample(0, "kwh", 100.0), sample(40*time.Minute, "kwh", 110.0),
		sample(45*time.Minute, "kwh", 3.0), sample(46*time.Minute, "kwh", 5.0),
		sample(47*time.Minute, "kwh", 1.0), sample(70*time.Minute, "kwh", 4.0)}
	for counter, want := range map[bool]float64{true: 10 + 3 + 2 + 1 + 3, false: -96} {
		sensors := fold.Sensors{}
		if counter {
			sensors.Counters = map[string]fold.Counter{"kwh": {}}
		}
		got := latest(t, newFold(time.Hour, sensors), samples...)["kwh"]
		if got.Step.Difference != 3 || got.Span == nil || got.Span.Difference != want {
			t.Errorf("counter %v: %+v over the span; want %v", counter, got.Span, want)
		}
	}
}

func TestARateHasThePositionOfItsTime(t *testing.T) {
	f := newFold(time.Hour, fold.Sensors{Position: fold.Position{Lat: "lat", Lon: "lon"}})
	got := latest(t, f, sample(0, "oil", 1.0, "lat", 47.0, "lon", 8.0), sample(time.Minute, "oil", 2.0),
		sample(2*time.Minute, "gas", 2.0, "lat", 48.0, "lon", 9.0),
		sample(3*time.Minute, "gas", 5.0))
	if len(got) != 2 || *got["oil"].Position != (Position{47, 8}) || *got["gas"].Position != (Position{48, 9}) {
		t.Errorf("%+v", got)
	}
}

// walk are samples of random sensors at random pauses, some of days.
func walk(r *rand.Rand, n int) (all []fold.Sample) {
	at := time.Duration(0)
	for range n {
		at += time.Duration(r.ExpFloat64() * float64(5*time.Minute))
		if r.IntN(40) == 0 {
			at += time.Duration(r.ExpFloat64() * float64(20*time.Hour))
		}
		s := sample(at)
		for i := range 1 + r.IntN(120) {
			if r.IntN(4) == 0 {
				number := r.NormFloat64() * 100
				if r.IntN(3) == 0 {
					number = 0
				}
				s.Values = append(s.Values, value(fmt.Sprint("s", i, strings.Repeat("n", i)), number))
			}
		}
		if r.IntN(3) == 0 {
			s.Values = append(s.Values, sample(0, "lat", r.Float64(), "lon", r.Float64()).Values...)
		}
		if len(all) == 0 || s.Key.Ticks > all[len(all)-1].Key.Ticks {
			all = append(all, s)
		}
	}
	return all
}

func randomFold(r *rand.Rand) *Fold {
	counters := map[string]fold.Counter{}
	for i := range 120 {
		if r.IntN(2) == 0 {
			name := fmt.Sprint("s", i, strings.Repeat("n", i))
			counters[name] = fold.Counter{Dips: r.Float64() / 2, Wrap: float64(r.IntN(2) * 300)}
		}
	}
	over := []time.Duration{time.Minute, time.Hour, 13 * time.Hour, 24 * time.Hour}[r.IntN(4)]
	return newFold(over, fold.Sensors{Counters: counters, Position: fold.Position{Lat: "lat", Lon: "lon"}})
}

// outputs folds samples cut at random places, and gives what storage then has.
func outputs(t *testing.T, r *rand.Rand, f *Fold, samples []fold.Sample) (state []byte, all map[fold.Output]string) {
	t.Helper()
	all = map[fold.Output]string{}
	for len(samples) > 0 {
		n := 1 + r.IntN(len(samples))
		out := must.Have(f.Fold(member, state, samples[:n]))(t)
		if len(out.State) > maxState {
			t.Fatalf("a state of %d bytes", len(out.State))
		}
		for _, e := range out.Effects {
			if e.Properties != nil {
				all[e.Output] = fmt.Sprint(e.Properties)
			}
		}
		state, samples = out.State, samples[n:]
	}
	return state, all
}

func TestRatesDoNotDependOnHowReadingsAreCut(t *testing.T) {
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 1))
		f, samples := randomFold(r), walk(r, 300)
		state, want := outputs(t, rand.New(rand.NewPCG(0, 0)), f, samples)
		for range 5 {
			again, got := outputs(t, r, f, samples)
			if !bytes.Equal(again, state) || !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: cut in another way, the outputs differ", seed)
			}
		}
	}
}

// TestTheStateDependsOnTheDaysOfTheRowAlone, and each bucket on its own readings: so a refold
// may begin with any day that is not above these.
func TestTheStateDependsOnTheDaysOfTheRowAlone(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 2))
		f, samples := randomFold(r), walk(r, 500)
		samples = samples[:1+r.IntN(len(samples))]
		state, whole := outputs(t, r, f, samples)
		from := must.Have(f.OpenFrom(state))(t)
		begin := schema.DayOf(samples[r.IntN(len(samples))].Key.Ticks).Start()
		first := slices.IndexFunc(samples, func(s fold.Sample) bool { return s.Key.Ticks >= min(from, begin) })
		again, part := outputs(t, r, f, samples[first:])
		if !bytes.Equal(again, state) {
			t.Fatalf("seed %d: the states differ", seed)
		}
		for o, want := range part {
			if whole[o] != want {
				t.Fatalf("seed %d: %v is %s; want %s", seed, o, want, whole[o])
			}
		}
	}
}

// TestAnEarlierReadingChangesItsOwnBucketsAlone, and the row if it is of the row's days.
func TestAnEarlierReadingChangesItsOwnBucketsAlone(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		f, samples := randomFold(r), walk(r, 300)
		late := r.IntN(len(samples) - 1)
		state, whole := outputs(t, r, f, samples)
		_, without := outputs(t, r, f, slices.Delete(slices.Clone(samples), late, late+1))
		from := must.Have(f.OpenFrom(state))(t)
		at := samples[late].Key.Ticks
		for o, text := range whole {
			row, err := schema.ParseRollupRow(o.RowKey)
			mine := err == nil && row.Bucket <= at && at-row.Bucket < day || err != nil && at >= from
			if without[o] != text && !mine {
				t.Fatalf("seed %d: a reading at %v changes %v", seed, at.Time(), o)
			}
		}
	}
}

func TestAStateReadsAsItWasWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	f := randomFold(r)
	state, _ := outputs(t, r, f, walk(r, 200))
	st := must.Have(f.decode(state))(t)
	if !bytes.Equal(f.encode(st), state) {
		t.Error("it is written differently")
	}
	for n := range state {
		if _, err := f.decode(state[:n]); err == nil && n > 0 {
			t.Fatalf("%d of %d bytes are read", n, len(state))
		}
	}
}

// TestTheLargestDeviceFitsItsState: the most sensors and counters, at every cell.
func TestTheLargestDeviceFitsItsState(t *testing.T) {
	for _, over := range []time.Duration{time.Hour, 24 * time.Hour} {
		counters := map[string]fold.Counter{}
		for i := range 300 {
			counters[fmt.Sprint("s", i)] = fold.Counter{}
		}
		f := newFold(over, fold.Sensors{Counters: counters, Position: fold.Position{Lat: "lat", Lon: "lon"}})
		var state []byte
		for n := range 400 {
			s := sample(time.Duration(n)*over/60, "lat", 1.0, "lon", 2.0)
			for i := range 300 {
				s.Values = append(s.Values, value(fmt.Sprint("s", (i+n/10)%300), float64(400-n)+0.1))
			}
			out := must.Have(f.Fold(member, state, []fold.Sample{s}))(t)
			if state = out.State; len(state) > maxState {
				t.Fatalf("over %v: %d bytes", over, len(state))
			}
		}
		t.Logf("over %v: %d bytes", over, len(state))
	}
}
