package archive

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/url"
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

const (
	hour = tables.Ticks(time.Hour / 100)
	day  = 24 * hour
)

// at returns samples without values at such times.
func at(times ...tables.Ticks) (samples []fold.Sample) {
	for _, t := range times {
		samples = append(samples, fold.Sample{Key: schema.RowKey{Ticks: t}})
	}
	return samples
}

func folded(t testing.TB, f *Fold, state []byte, samples []fold.Sample) []byte {
	t.Helper()
	out := must.Have(f.Fold(member, state, samples))(t)
	if len(out.Effects)+len(out.Refused) != 0 {
		t.Fatalf("samples have effects: %+v", out)
	}
	return out.State
}

// closeAt closes once, and returns the days that are asked for.
func closeAt(t testing.TB, f *Fold, state []byte, until tables.Ticks) ([]byte, []string) {
	t.Helper()
	out := must.Have(f.Close(member, state, until))(t)
	var asked []string
	for _, e := range out.Effects {
		d := schema.DayOf(e.From)
		if e.From != d.Start() || e.To != (d+1).Start() || !e.Closed || e.Properties != nil {
			t.Fatalf("not a closed day: %+v", e)
		}
		if want := (fold.Output{PartitionKey: "readings/tenant=contoso/date=" + d.String(),
			RowKey: "d1.jsonl.gz"}); e.Output != want {
			t.Fatalf("the object of %s is %+v", d, e.Output)
		}
		if e.To+hour > until {
			t.Fatalf("%s is closed at %s", d, until.Time())
		}
		asked = append(asked, d.String())
	}
	return out.State, asked
}

// walk returns times that advance by minutes to months, and their days.
func walk(random *rand.Rand, n int) (times []tables.Ticks, days []string) {
	now := tables.TicksOf(time.Date(2026, 11, 20, 23, 50, 0, 0, time.UTC))
	for range n {
		now = now.Add(time.Duration(1 + random.Float64()*random.Float64()*random.Float64()*float64(1000*time.Hour)))
		times, days = append(times, now), append(days, schema.DayOf(now).String())
	}
	return times, slices.Compact(days)
}

// TestEveryDayIsAskedForOnceHoweverTheWorkIsCut: a device job folds some rows, closes, and repeats that, wherever it
// was cut.
func TestEveryDayIsAskedForOnceHoweverTheWorkIsCut(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	f := Processor.Default().Fold.(*Fold)
	for range 50 {
		times, want := walk(random, 300)
		whole := folded(t, f, nil, at(times...))
		for _, most := range []int{1, 7, 50, 300} {
			var state, uncut []byte
			var asked, some []string
			for left := times; len(left) > 0; {
				n := min(1+random.IntN(most), len(left))
				state, uncut = folded(t, f, state, at(left[:n]...)), folded(t, f, uncut, at(left[:n]...))
				state, some = closeAt(t, f, state, left[n-1]) // there may be rows of this very tick
				asked, left = append(asked, some...), left[n:]
			}
			if !bytes.Equal(uncut, whole) {
				t.Fatalf("seed %d: cut to %d, the state is another", seed, most)
			}
			for some = asked; len(some) > 0; asked = append(asked, some...) {
				state, some = closeAt(t, f, state, tables.MaxTicks)
			}
			if !slices.Equal(asked, want) {
				t.Fatalf("seed %d: cut to %d, asked for %v; want %v", seed, most, asked, want)
			}
			if from, err := f.OpenFrom(state); err != nil || from != tables.MaxTicks {
				t.Fatalf("at the end %d is open, %v", from, err)
			}
		}
	}
}

func TestADayIsAwaitedForAnHour(t *testing.T) {
	f := Processor.Default().Fold.(*Fold)
	start := schema.DayOf(tables.TicksOf(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC))).Start()
	state := folded(t, f, nil, at(start, start+day-1))
	for _, until := range []tables.Ticks{start, start + day, start + day + hour - 1} {
		same, asked := closeAt(t, f, state, until)
		if asked != nil || !bytes.Equal(same, state) {
			t.Fatalf("asked for %v at %s", asked, until.Time())
		}
		if from, err := f.OpenFrom(same); err != nil || from != start {
			t.Fatalf("open from %s, %v", from.Time(), err)
		}
	}
	state, asked := closeAt(t, f, state, start+day+hour)
	if !slices.Equal(asked, []string{"2026-11-20"}) {
		t.Fatalf("asked for %v", asked)
	}
	// A device that was without a network sends the rest of the day.
	state = folded(t, f, state, at(start+day-1))
	if _, asked = closeAt(t, f, state, start+day+hour); !slices.Equal(asked, []string{"2026-11-20"}) {
		t.Errorf("with more readings of it, asked for %v", asked)
	}
}

func TestNothingFoldedIsOpenFromTheBeginning(t *testing.T) {
	f := Processor.Default().Fold.(*Fold)
	for _, never := range [][]byte{nil, {}} { // storage gives back no bytes for nil
		state := folded(t, f, never, nil)
		if from, err := f.OpenFrom(state); err != nil || from != 0 {
			t.Errorf("open from %d, %v", from, err)
		}
		if _, asked := closeAt(t, f, state, tables.MaxTicks); asked != nil {
			t.Errorf("asked for %v", asked)
		}
	}
}

// TestYearsBehindAreAskedForAFewDaysAtATime: 30 years of daily readings.
func TestYearsBehindAreAskedForAFewDaysAtATime(t *testing.T) {
	f := Processor.Default().Fold.(*Fold)
	var state []byte
	days := tables.Ticks(30 * 365)
	var times []tables.Ticks
	for n := range days {
		times = append(times, 600000000000000000+n*day)
	}
	for year := range slices.Chunk(times, 365) {
		state = folded(t, f, state, at(year...))
	}
	if len(state) > 11<<10 {
		t.Errorf("%d days take %d bytes", days, len(state))
	}
	state, asked := closeAt(t, f, state, tables.MaxTicks)
	if len(asked) != int(days)-maxWaiting || len(state) > 60<<10 {
		t.Fatalf("asked for %d days at once; the state has %d bytes", len(asked), len(state))
	}
	for n := maxWaiting; n > 0; n -= maxEffects {
		if state, asked = closeAt(t, f, state, tables.MaxTicks); len(asked) != maxEffects {
			t.Fatalf("asked for %d days with %d left", len(asked), n)
		}
	}
}

// TestStateIsBoundedWhateverTheDays: every row on a day of its own, far apart.
func TestStateIsBoundedWhateverTheDays(t *testing.T) {
	f := Processor.Default().Fold.(*Fold)
	var state []byte
	now, total, asked := tables.Ticks(0), 0, []string(nil)
	for range 6 {
		var times []tables.Ticks
		for range 5000 { // a portion of a device far behind
			now += 99 * day
			times = append(times, now)
		}
		state = folded(t, f, state, at(times...))
		state, asked = closeAt(t, f, state, now)
		if total += len(asked); len(state) > 20<<10 || len(asked) > 5000 {
			t.Fatalf("a state of %d bytes, %d days asked for", len(state), len(asked))
		}
	}
	if total < 6*5000-maxWaiting {
		t.Errorf("%d days were asked for", total)
	}
}

func TestSamplesOutOfOrderAreAnError(t *testing.T) {
	f := Processor.Default().Fold.(*Fold)
	if _, err := f.Fold(member, folded(t, f, nil, at(5*day)), at(5*day-1)); err == nil {
		t.Error("a day after a later one is folded")
	}
}

func TestConfigIsChecked(t *testing.T) {
	if (&Config{CloseAfter: -1}).Check() == nil {
		t.Error("a day closes before it ends")
	}
	f := &Fold{2 * time.Hour}
	if _, asked := closeAt(t, f, folded(t, f, nil, at(5*day)), 6*day+hour); asked != nil {
		t.Error("a setting is not heeded")
	}
}

// TestNamesAreSafeAndCanBeReadBack: every odd tenant and device has its own object name, which tools accept as a file,
// and URL decoding restores both.
func TestNamesAreSafeAndCanBeReadBack(t *testing.T) {
	tenants := []string{"Größe & Co / #1 'quoted'", "a/b", "a%2Fb", "a=b", "a=2Fb", "a\\b", "a b", "a+b",
		strings.Repeat("&", 128), strings.Repeat("日", 42)}
	ids := []string{"a", "A", ".", "..", "...", "_", "__a", "-", ":", "a:b", "a.", "a:", ":.", ".:", "a.b_c-d:e",
		"_SUCCESS", ".hidden",
		"contoso:us-5260:Giles-7163712301905", strings.Repeat(":", 64), strings.Repeat(".", 64)}
	seen := map[string]bool{}
	for _, tenant := range append(tenants, ids...) {
		for _, device := range ids {
			o := output(schema.Member{Tenant: schema.Tenant(tenant), Device: schema.DeviceID(device)}, 739939)
			name := o.PartitionKey + "/" + o.RowKey
			parts := strings.Split(name, "/")
			if seen[name] || len(parts) != 4 || len(name) > 1024 {
				t.Fatalf("%s and %s are in %s", tenant, device, name)
			}
			seen[name] = true
			for _, part := range parts {
				if strings.ContainsAny(part, ":\\") || strings.HasSuffix(part, ".") || strings.HasPrefix(part, ".") ||
					strings.HasPrefix(part, "_") {
					t.Errorf("%s is no safe name", name)
				}
			}
			back := must.Have(url.PathUnescape(name))(t)
			if want := fmt.Sprintf("readings/tenant=%s/date=2026-11-20/%s.jsonl.gz", tenant, device); back != want {
				t.Errorf("%s is read back as %s; want %s", name, back, want)
			}
		}
	}
}

// FuzzState: no state crashes the fold, and what is read is written the same.
func FuzzState(f *testing.F) {
	fold := Processor.Default().Fold.(*Fold)
	for _, times := range [][]tables.Ticks{{0}, {0, day, 400 * day}, {tables.MaxTicks}} {
		out := must.Have(fold.Fold(member, nil, at(times...)))(f)
		f.Add(out.State)
	}
	f.Add([]byte{})
	f.Add([]byte{2, 0})
	f.Add([]byte{1, 2, 2, 0}) // a day twice
	f.Fuzz(func(t *testing.T, state []byte) {
		awaited, err := decode(state)
		if err != nil {
			return
		}
		again, err := decode(awaited.encode())
		if err != nil || !slices.Equal(again, awaited) {
			t.Fatalf("%v is written and read as %v, %v", awaited, again, err)
		}
		if !slices.IsSorted(awaited) || len(awaited) > 0 &&
			(awaited[0] < 0 || awaited[len(awaited)-1] > schema.DayOf(tables.MaxTicks)) {
			t.Fatalf("%v are no days", awaited)
		}
		must.Have(fold.Close(member, state, tables.MaxTicks))(t)
		must.Have(fold.OpenFrom(state))(t)
	})
}
