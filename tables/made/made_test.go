package made

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

var noon = tables.TicksOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))

const (
	minute = day / 24 / 60
	bootA  = "aaaaaaaa"
	bootB  = "bbbbbbbb"
	bootC  = "cccccccc"
)

// A row is one with a number in its key, or in a property if it has no boot. Without a number it has none.
type row struct {
	at   tables.Ticks
	boot string
	n    uint64
}

func (r row) key() schema.RowKey {
	k := schema.RowKey{Ticks: r.at}
	if r.boot != "" {
		k.Suffix = schema.Number{Boot: r.boot, N: r.n}.String()
	}
	return k
}

// unnumbered is the number of a row of another writer.
const unnumbered = 1 << 40

// counted returns the days of rows, in the order of their keys.
func counted(rows ...row) []Day {
	slices.SortFunc(rows, func(a, b row) int { return a.key().Compare(b.key()) })
	var c Counter
	var all []Day
	for _, r := range rows {
		c.Take(r.key(), r.n, r.boot == "" && r.n != unnumbered)
		all = append(all, c.Over()...)
	}
	return append(all, c.End()...)
}

// sent has readings of a boot, one a minute from a time on.
func sent(boot string, from tables.Ticks, numbers ...uint64) (rows []row) {
	for i, n := range numbers {
		rows = append(rows, row{from + tables.Ticks(i)*minute, boot, n})
	}
	return rows
}

func join(all ...[]row) []row { return slices.Concat(all...) }

func TestNumbersInRowKeysSayWhatWasMade(t *testing.T) {
	for name, c := range map[string]struct {
		rows []row
		want Day
	}{
		"all are there": {sent(bootA, noon, 1, 2, 3), Day{Readings: 3, First: 1, Last: 3}},
		"two are missing, in one gap": {sent(bootA, noon, 1, 2, 5), Day{Readings: 3, Missing: 2, First: 1, Last: 5,
			Gaps: []Gap{{bootA, 3, 4, noon + minute, noon + 2*minute}}}},
		"the span begins within a boot": {sent(bootA, noon, 70, 71), Day{Readings: 2, First: 70, Last: 71}},
		"a restart": {join(sent(bootA, noon, 8, 9), sent(bootB, noon+9*minute, 1, 2)),
			Day{Readings: 4, Restarts: 1, First: 8, Last: 2}},
		"the beginning of a boot is missing": {join(sent(bootA, noon, 8), sent(bootB, noon+9*minute, 3)),
			Day{Readings: 2, Restarts: 1, Missing: 2, First: 8, Last: 3, Gaps: []Gap{{bootB, 1, 2, 0, noon + 9*minute}}}},
		"a device that sleeps boots for every reading": {join(sent(bootA, noon, 1), sent(bootB, noon+minute, 1),
			sent(bootC, noon+2*minute, 1)), Day{Readings: 3, Restarts: 2, First: 1, Last: 1}},
		"the clock jumps back, so boots are mixed": {join(sent(bootA, noon, 1, 2, 3, 4), sent(bootB, noon+minute/2, 1, 2, 3)),
			Day{Readings: 7, Restarts: 1, First: 1, Last: 4}},
		"the clock is set back within a boot": {join(sent(bootA, noon, 1, 2, 3), sent(bootA, noon-90*minute, 4, 5)),
			Day{Readings: 5, First: 4, Last: 3}},
		"a late row, whose key is in its place": {join(sent(bootA, noon, 1, 2), sent(bootA, noon+9*minute, 4),
			sent(bootA, noon+3*minute, 3)), Day{Readings: 4, First: 1, Last: 4}},
		"a row whose time was corrected has two keys": {join(sent(bootA, noon, 1, 2), sent(bootA, noon+5*minute, 2, 3)),
			Day{Readings: 4, Repeated: 1, First: 1, Last: 3}},
		"a token ends within a boot": {join(sent(bootA, noon, 1, 2), sent(bootA, noon+600*minute, 3, 4)),
			Day{Readings: 4, First: 1, Last: 4}},
		"rows of other writers": {join(sent(bootA, noon, 1, 2), sent("", noon+minute/2, unnumbered, unnumbered)),
			Day{Readings: 2, Unnumbered: 2, First: 1, Last: 2}},
	} {
		all := counted(c.rows...)
		c.want.Start, c.want.ByKey = noon-noon%day, c.want.Readings
		if len(all) != 1 || !reflect.DeepEqual(all[0], c.want) {
			t.Errorf("%s: %+v, want %+v", name, all, c.want)
		}
	}
}

// TestNumbersInAPropertyCountWhereTheKeyHasNone: rows of a gateway beside those of a device, and a device whose new
// firmware has numbers in its keys, and goes back.
func TestNumbersInAPropertyCountWhereTheKeyHasNone(t *testing.T) {
	d := counted(join(sent("", noon, 5, 6, 8), sent(bootA, noon+minute/2, 1, 2, 4))...)[0]
	if d.Readings != 6 || d.ByKey != 3 || d.Missing != 2 || d.Restarts != 0 || d.Made() != 8 {
		t.Errorf("%+v", d)
	}
	var c Counter
	for i, boot := range []string{"", "", bootA, bootA, ""} {
		c.Take(row{noon + tables.Ticks(i)*minute, boot, uint64(i)}.key(), 7+uint64(i), true)
	}
	if d := c.End()[0]; d.Readings != 5 || d.ByKey != 2 || d.Missing != 0 || d.Repeated != 0 || d.Restarts != 0 {
		t.Errorf("with both numbers: %+v", d)
	}
}

// TestGapCountsForTheDayOfTheNextNumber: over midnight, and where that number is of an earlier day.
func TestGapCountsForTheDayOfTheNextNumber(t *testing.T) {
	all := counted(join(sent(bootA, noon, 1, 2), sent(bootA, noon+day, 5, 6), sent(bootA, noon-day, 9))...)
	if len(all) != 3 || all[0].Missing != 2 || all[1].Missing != 0 || all[2].Missing != 2 || all[2].Gaps[0].From != 3 {
		t.Errorf("%+v", all)
	}
}

// TestNothingIsMissingWhereRowsAreNotGiven: between two spans of a tenant the device belonged to another one.
func TestNothingIsMissingWhereRowsAreNotGiven(t *testing.T) {
	var c Counter
	c.Take(row{noon, bootA, 1}.key(), 0, false)
	c.Take(row{noon + minute, bootA, 3}.key(), 0, false)
	c.Break()
	c.Take(row{noon + 9*minute, bootA, 10}.key(), 0, false)
	c.Take(row{noon + 10*minute, bootA, 12}.key(), 0, false)
	if d := c.End()[0]; d.Missing != 2 || d.Restarts != 0 || len(d.Gaps) != 2 {
		t.Errorf("%+v", d)
	}
}

func TestCounterWrapsInItsGap(t *testing.T) {
	for _, c := range []struct{ before, after, from, to uint64 }{
		{65_530, 4, 65_531, 3}, {65_530, 0, 65_531, 65_535}, {65_535, 4, 0, 3}} {
		d := counted(sent("", noon, c.before, c.after)...)[0]
		if d.Wraps != 1 || len(d.Gaps) != 1 || d.Gaps[0].From != c.from || d.Gaps[0].To != c.to {
			t.Errorf("%+v: %+v", c, d)
		}
	}
}

// expected counts what a Counter should, from all rows at once.
func expected(rows []row) map[tables.Ticks]Day {
	slices.SortFunc(rows, func(a, b row) int { return a.key().Compare(b.key()) })
	days, boots, order := map[tables.Ticks]Day{}, map[string]map[uint64]tables.Ticks{}, 0
	change := func(at tables.Ticks, f func(*Day)) {
		d := days[at-at%day]
		f(&d)
		days[at-at%day] = d
	}
	begins := map[string]bool{}
	for _, r := range rows {
		change(r.at, func(d *Day) { d.Readings++ })
		if boots[r.boot] == nil {
			boots[r.boot], begins[r.boot] = map[uint64]tables.Ticks{}, order > 0
			if order++; order > 1 {
				change(r.at, func(d *Day) { d.Restarts++ })
			}
		}
		if _, twice := boots[r.boot][r.n]; twice {
			change(r.at, func(d *Day) { d.Repeated++ })
		} else {
			boots[r.boot][r.n] = r.at
		}
	}
	for name, numbers := range boots {
		all := slices.Sorted(maps.Keys(numbers))
		low := all[0]
		if begins[name] {
			low = 0
		}
		for _, n := range all {
			if n > low+1 {
				change(numbers[n], func(d *Day) { d.Missing += int64(n - low - 1) })
			}
			low = max(low, n)
		}
	}
	return days
}

// TestRandomLifeIsCounted has a device restart, lose readings, be late, jump in time and number a reading twice.
func TestRandomLifeIsCounted(t *testing.T) {
	first := rand.Uint64()
	for seed := first; seed < first+300; seed++ {
		r := rand.New(rand.NewPCG(seed, 1))
		var rows []row
		at := noon
		for b := range 1 + r.IntN(12) {
			boot := fmt.Sprintf("%c%c%c%c%c%c%c%c", 'z', 'a'+b, 'a', 'a', 'a', 'a', 'a', 'a')
			for n := uint64(1); n < 2+r.Uint64N(200); n++ {
				at += tables.Ticks(r.Int64N(int64(20 * minute)))
				if r.IntN(50) == 0 {
					at += tables.Ticks(r.Int64N(int64(4*day))) - 2*day
				}
				for range cmp.Or(r.IntN(10)/9, 0) + min(r.IntN(6), 1) { // lost, once, twice
					rows = append(rows, row{at + tables.Ticks(r.IntN(1000)), boot, n})
				}
			}
		}
		want := expected(rows)
		for _, d := range counted(rows...) {
			w := want[d.Start]
			if d.Readings != w.Readings || d.Missing != w.Missing || d.Repeated != w.Repeated || d.Restarts != w.Restarts ||
				d.Unsure || (len(d.Gaps) > 0) != (d.Missing > 0) {
				t.Fatalf("seed %d: %+v, want %+v", seed, d, w)
			}
			delete(want, d.Start)
		}
		if len(want) > 0 {
			t.Fatalf("seed %d: days %v are left out", seed, want)
		}
	}
}

// TestCounterIsBounded: with more days, boots and gaps than it holds.
func TestCounterIsBounded(t *testing.T) {
	var c Counter
	readings, missing, unsure := int64(0), int64(0), false
	take := func(days []Day) {
		for _, d := range days {
			readings, missing, unsure = readings+d.Readings, missing+d.Missing, unsure || d.Unsure
		}
	}
	next := noon
	for i := range 3 * mostStretches {
		next += day / 5
		c.Take(row{next, bootA, uint64(2*i + 1)}.key(), 0, false)
		c.Take(row{next + 1, fmt.Sprintf("%08x", i), 1}.key(), 0, false)
		take(c.Over())
		if n := c.boots.stretches; n > mostStretches || len(c.boots.byName) > mostStretches || len(c.days) > mostDays {
			t.Fatalf("%d stretches, %d boots, %d days", n, len(c.boots.byName), len(c.days))
		}
	}
	take(c.End())
	if readings != 6*mostStretches || missing != 3*mostStretches-1 {
		t.Errorf("%d readings, %d missing", readings, missing)
	}
	if unsure { // the gaps were closed because their days were over
		t.Error("unsure, though no row filled a gap late")
	}
}

// TestUnsureDaysSaySo: more gaps of one day than are followed, and then a boot that was forgotten.
func TestUnsureDaysSaySo(t *testing.T) {
	var c Counter
	for i := range 2 * mostStretches {
		c.Take(row{noon + tables.Ticks(i), bootA, uint64(2*i + 1)}.key(), 0, false)
	}
	if d := c.End()[0]; !d.Unsure || d.Missing != 2*mostStretches-1 || len(d.Gaps) != mostGaps || d.Gaps[0].From != 2 {
		t.Errorf("%+v", d)
	}
	c.Take(row{noon, bootA, 1}.key(), 0, false)
	for i := range mostStretches {
		c.Take(row{noon + 1, fmt.Sprintf("%08x", i), 1}.key(), 0, false)
	}
	c.Take(row{noon + 2, bootA, 2}.key(), 0, false)
	if d := c.End()[0]; !d.Unsure || d.Missing != 0 || d.Readings != mostStretches+2 {
		t.Errorf("with a boot that was forgotten: %+v", d)
	}
}
