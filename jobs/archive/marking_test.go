package archive

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/internal/pack"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

var member = schema.Member{Device: "d1", Tenant: "contoso", Month: schema.Month{Year: 2026, Month: 11}}

// at returns samples without values at such times.
func at(times ...tables.Ticks) (samples []fold.Sample) {
	for _, t := range times {
		samples = append(samples, fold.Sample{Key: schema.RowKey{Ticks: t}})
	}
	return samples
}

// marked returns the names of the marks of a result, each once, in order.
func marked(out fold.Result) (all []string) {
	for _, e := range out.Effects {
		all = append(all, e.Mark.Name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestEveryDayAndHourOfSamplesIsMarked however the samples are cut into folds.
func TestEveryDayAndHourOfSamplesIsMarked(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var times []tables.Ticks
		want := map[string]bool{}
		for next := tables.Ticks(0); len(times) < 40; {
			next += tables.Ticks(random.Int64N(int64(tables.Day)))
			times = append(times, next)
			day := schema.DayOf(next).String()
			want[day] = true
			want[fmt.Sprintf("%sT%02d", day, next.Time().Hour())] = true
		}
		marks := &marking{time.Hour, true}
		var state []byte
		got := map[string]bool{}
		for len(times) > 0 {
			n := 1 + random.IntN(len(times))
			out := must.Have(marks.Fold(member, state, at(times[:n]...)))(t)
			for _, name := range marked(out) {
				got[name] = true
			}
			state, times = out.State, times[n:]
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("marked %v, want %v", got, want)
		}
	}
}

// TestDaysThatAnEarlierReleaseWaitsForAreMarked with the next rows, or without any.
func TestDaysThatAnEarlierReleaseWaitsForAreMarked(t *testing.T) {
	state := pack.Int(pack.Int(pack.Int([]byte{stateVersion}, 2), schema.Day(739940)), schema.Day(3))
	marks := &marking{time.Hour, false}
	if from := must.Have(marks.OpenFrom(state))(t); from != schema.Day(739939).Start() {
		t.Errorf("open from %v", from.Time())
	}
	out := must.Have(marks.Close(member, state, 0))(t)
	if got := fmt.Sprint(marked(out)); got != "[2026-11-20 2026-11-23]" {
		t.Errorf("marked %s", got)
	}
	later := schema.Day(739944).Start()
	if got := fmt.Sprint(marked(must.Have(marks.Fold(member, state, at(later)))(t))); got !=
		"[2026-11-20 2026-11-23 2026-11-25]" {
		t.Errorf("with a row, marked %s", got)
	}
	again := must.Have(marks.Close(member, out.State, 0))(t)
	if from := must.Have(marks.OpenFrom(out.State))(t); len(again.Effects) > 0 || from != tables.MaxTicks {
		t.Errorf("again, marked %v, and open from %v", marked(again), from)
	}
	if from := must.Have(marks.OpenFrom(nil))(t); from != 0 {
		t.Errorf("a device that was never folded is open from %v", from)
	}
}

func TestConfigIsChecked(t *testing.T) {
	if (&Config{CloseAfter: -1}).Check() == nil {
		t.Error("a day closes before it ends")
	}
}

// FuzzState: no state crashes the fold.
func FuzzState(f *testing.F) {
	for _, state := range [][]byte{{}, noDays(), {2, 0}, {1, 2, 2, 0}, {1, 1, 5}} {
		f.Add(state)
	}
	f.Fuzz(func(t *testing.T, state []byte) {
		days, err := daysOf(state)
		if err == nil && !slices.IsSorted(days) {
			t.Errorf("days %v", days)
		}
		_, _ = (&marking{}).Fold(member, state, at(0))
	})
}
