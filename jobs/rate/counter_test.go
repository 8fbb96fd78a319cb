package rate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// risen returns what a counter rose in each bucket of a window, as a query tells it.
func risen(t *testing.T, f *Fold, window schema.Window, samples []fold.Sample) (all []float64) {
	t.Helper()
	type bucket struct {
		start tables.Ticks
		text  string
	}
	var order []*bucket
	of := map[tables.Ticks]*bucket{}
	var state []byte
	for _, s := range samples {
		out := must.Have(f.Fold(member, state, []fold.Sample{s}))(t)
		state = out.State
		for _, e := range out.Effects {
			row, err := schema.ParseRollupRow(e.Output.RowKey)
			if err != nil || e.To-e.From != tables.Ticks(window/100) || len(e.Properties) == 0 {
				continue
			}
			if of[row.Bucket] == nil {
				of[row.Bucket] = &bucket{start: row.Bucket}
				order = append(order, of[row.Bucket])
			}
			of[row.Bucket].text = e.Properties[0].Value.Text()
		}
	}
	var before Before
	for _, b := range order {
		s := must.Have(ParseSummary(b.text))(t)
		if again := s.String(); again != b.text {
			t.Fatalf("%s is written as %s", b.text, again)
		}
		tally := s.Since(&before)
		if tally.Over < 0 {
			t.Fatalf("%s covers %d ticks", b.text, tally.Over)
		}
		all = append(all, tally.Difference)
	}
	return all
}

func counting(c fold.Counter) *Fold {
	return newFold(time.Hour, fold.Sensors{Counters: map[string]fold.Counter{"kwh": c}})
}

func TestACounterRisesByWhatItCounted(t *testing.T) {
	const few, day = 5 * time.Minute, 24 * time.Hour
	plain, dips, wraps := fold.Counter{}, fold.Counter{Dips: .01}, fold.Counter{Wrap: 65536}
	for what, c := range map[string]struct {
		counter fold.Counter
		every   time.Duration
		values  []float64
		want    []float64 // by hour
	}{
		"a dip is no reset":            {dips, few, []float64{215.6, 215.7, 215.6, 215.8}, []float64{.2}},
		"a zero alone is no reset":     {dips, few, []float64{3737, 0, 3746}, []float64{9}},
		"two zeros are one":            {plain, few, []float64{3737, 0, 0, 3746}, []float64{3746}},
		"a zero that is confirmed":     {plain, few, []float64{100, 103, 0, 7}, []float64{10}},
		"a wrap":                       {fold.Counter{Dips: .01, Wrap: 65536}, few, []float64{65530, 4, 10}, []float64{16}},
		"a wrap to zero":               {wraps, few, []float64{65530, 0, 10}, []float64{16}},
		"a reset of one that wraps":    {wraps, few, []float64{30000, 4, 10}, []float64{10}},
		"one that begins at an offset": {fold.Counter{Zero: 500}, few, []float64{510, 520, 503}, []float64{13}},
		"the first of all is zero":     {plain, few, []float64{0, 4, 5}, []float64{5}},
		"once a day":                   {plain, day + 45*time.Second, []float64{1000, 1012, 1024}, []float64{0, 12, 12}},
		"after weeks":                  {plain, 40 * day, []float64{5, 0, 9, 12}, []float64{0, 0, 4, 3}},
	} {
		var samples []fold.Sample
		for i, v := range c.values {
			samples = append(samples, sample(time.Duration(i)*c.every, "kwh", v))
		}
		got := risen(t, counting(c.counter), schema.Hour, samples)
		for i := range got {
			got[i] = math.Round(got[i]*1e6) / 1e6
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v rise by %v; want %v", what, c.values, got, c.want)
		}
	}
}

// TestWhatACounterRoseDoesNotDependOnBuckets: the sum over hours is that over days, and that of all readings one by
// one, wherever zeros, resets, wraps, dips and pauses are.
func TestWhatACounterRoseDoesNotDependOnBuckets(t *testing.T) {
	c := fold.Counter{Dips: .02, Wrap: 1000}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		at, value := time.Duration(0), float64(r.IntN(1000))
		var samples []fold.Sample
		want, last, zero := 0.0, math.NaN(), false
		for range 60 {
			most := []time.Duration{20 * time.Minute, 2 * time.Hour, 60 * time.Hour}[r.IntN(3)]
			at += time.Duration(1 + r.Int64N(int64(most)))
			shown := value
			switch r.IntN(6) {
			case 0:
				shown = 0
			case 1:
				value, shown = 0, 0
			case 2:
				shown = math.Floor(value * .99)
			}
			samples = append(samples, sample(at, "kwh", shown))
			value = math.Mod(value+float64(r.IntN(200)), 1000)
			switch {
			case math.IsNaN(last):
				last = shown
			case shown == 0 && last > 0 && !zero:
				zero = true
			default:
				want += c.Rise(last, shown)
				last, zero = shown, false
			}
		}
		for _, w := range Windows() {
			sum := 0.0
			for _, rise := range risen(t, counting(c), w, samples) {
				sum += rise
			}
			if math.Abs(sum-want) > 1e-6 {
				t.Fatalf("seed %d: by %v it rose by %v; want %v", seed, time.Duration(w), sum, want)
			}
		}
	}
}

func TestTheNewestRateOfACounterIsThatOfItsReadings(t *testing.T) {
	f := counting(fold.Counter{Dips: .01})
	got := latest(t, f, sample(0, "kwh", 1000.0), sample(24*time.Hour+45*time.Second, "kwh", 1012.0))["kwh"]
	if got.Step.Difference != 12 || got.Span == nil || got.Span.Difference != 12 {
		t.Errorf("of a meter that is read once a day it is %+v", got)
	}
	with := []fold.Sample{sample(0, "kwh", 3737.0), sample(time.Minute, "kwh", 0.0)}
	if got := latest(t, f, with...); len(got) != 0 {
		t.Errorf("with a zero that nothing confirms it is %+v", got)
	}
	if got := latest(t, f, append(with, sample(2*time.Minute, "kwh", 3746.0))...)["kwh"]; got.Step.Difference != 9 {
		t.Errorf("after a single zero it is %+v", got)
	}
}

// TestTheNewestRateOfACounterIsANumber, however far it falls when it begins again: both the difference and what was
// lost are then beyond what a double holds.
func TestTheNewestRateOfACounterIsANumber(t *testing.T) {
	got := latest(t, counting(fold.Counter{}), sample(0, "kwh", 1.7e308), sample(2*time.Hour, "kwh", -1.7e308))["kwh"]
	if got.Step != (Change{}) || got.Span == nil || *got.Span != (Change{}) {
		t.Errorf("of a counter that has begun again it is %+v, over the span %+v", got, got.Span)
	}
}
