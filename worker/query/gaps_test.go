package query

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// days counts the numbers of a device that sends a reading a minute.
func days(t *testing.T, begin time.Time, numbers ...any) (all []GapDay) {
	t.Helper()
	rows := func(yield func(tables.Entity, error) bool) {
		for i, n := range numbers {
			at := schema.RowKey{Ticks: tables.TicksOf(begin.Add(time.Duration(i) * time.Minute))}
			e := tables.Entity{PartitionKey: "d", RowKey: at.String()}
			switch n := n.(type) {
			case int:
				e.Properties = []tables.Property{{Name: "fCnt", Value: tables.Double(float64(n))}}
			case string:
				e.Properties = []tables.Property{{Name: "fCnt", Value: tables.String(n)}}
			}
			if !yield(e, nil) {
				return
			}
		}
	}
	for d, err := range gapDays("fCnt", schema.Member{Device: "d"}, Question{Sensors: []string{"fCnt"}}, rows) {
		must.Succeed(t, err)
		all = append(all, d)
	}
	return all
}

func TestGapsOfSequenceNumbers(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		numbers                          []any
		missing, repeated, resets, wraps int64
	}{
		"none":                            {[]any{7, 8, 9}, 0, 0, 0, 0},
		"three are missing":               {[]any{7, 8, 12}, 3, 0, 0, 0},
		"many are missing":                {[]any{7, 70_000}, 69_992, 0, 0, 0},
		"one is repeated":                 {[]any{7, 7, 8}, 0, 1, 0, 0},
		"one is repeated out of order":    {[]any{5, 6, 7, 5, 8}, 0, 1, 0, 0},
		"two are out of order":            {[]any{5, 7, 6, 8}, 0, 0, 0, 0},
		"the device restarts":             {[]any{507, 508, 0, 1, 2}, 0, 0, 1, 0},
		"and again at once":               {[]any{3, 0, 1, 0, 1}, 0, 0, 2, 0},
		"restarts at 1":                   {[]any{507, 1, 2}, 0, 0, 1, 0},
		"16 bits wrap":                    {[]any{65_534, 65_535, 0, 1}, 0, 0, 0, 1},
		"16 bits wrap in a gap":           {[]any{65_530, 4}, 9, 0, 0, 1},
		"32 bits wrap":                    {[]any{1<<32 - 2, 1<<32 - 1, 0}, 0, 0, 0, 1},
		"a restart near the end":          {[]any{60_000, 0, 1}, 0, 0, 1, 0},
		"a counter of 32 bits restarts":   {[]any{70_000, 0}, 0, 0, 1, 0},
		"numbers as text, and none":       {[]any{"7", nil, "8", "x", "-1", "1e3", 10}, 1, 0, 0, 0},
		"a number of more than 32 bits":   {[]any{7, 1 << 33, 8}, 0, 0, 0, 0},
		"only one":                        {[]any{0}, 0, 0, 0, 0},
		"missing, late, and then missing": {[]any{1, 4, 2, 6}, 2, 0, 0, 0},
	} {
		all := days(t, noon, c.numbers...)
		if len(all) != 1 {
			t.Fatalf("%s: %+v", name, all)
		}
		d := all[0]
		if d.Missing != c.missing || d.Repeated != c.repeated || d.Restarts != c.resets || d.Wraps != c.wraps {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestStepToANewDayCountsThere: what is missing over midnight is missing on the later day.
func TestStepToANewDayCountsThere(t *testing.T) {
	all := days(t, time.Date(2026, 11, 20, 23, 58, 0, 0, time.UTC), 1, 2, 5, 6)
	if len(all) != 2 || all[0].Missing != 0 || all[1].Missing != 2 || all[0].First != 1 || all[0].Last != 2 ||
		all[1].First != 5 || all[1].Readings != 2 {
		t.Errorf("%+v", all)
	}
}

// TestRandomGapsAreCounted drops and repeats numbers of a counter of 16 bits that wraps.
func TestRandomGapsAreCounted(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		var numbers []any
		var missing, repeated, wraps, dropped int64
		for n := 65_000; n < 67_000; n++ {
			last := 0
			if len(numbers) > 0 {
				last = numbers[len(numbers)-1].(int)
			}
			switch {
			case len(numbers) > 0 && r.IntN(10) == 0:
				dropped++
				continue
			case r.IntN(10) == 0:
				numbers = append(numbers, n%65_536)
				repeated++
			}
			numbers = append(numbers, n%65_536)
			missing, dropped = missing+dropped, 0
			if last > n%65_536 {
				wraps++
			}
		}
		var got GapDay
		for _, d := range days(t, time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), numbers...) {
			got.Missing, got.Repeated, got.Restarts, got.Wraps = got.Missing+d.Missing, got.Repeated+d.Repeated,
				got.Restarts+d.Restarts, got.Wraps+d.Wraps
		}
		if want := fmt.Sprint(missing, repeated, 0, wraps); want != fmt.Sprint(got.Missing, got.Repeated, got.Restarts,
			got.Wraps) {
			t.Errorf("seed %d: %+v, want %s", seed, got, want)
		}
	}
}

// TestNumbersOfOthersAreNotMissed: between two spans of a tenant the device numbered readings of another one.
func TestNumbersOfOthersAreNotMissed(t *testing.T) {
	begin := tables.TicksOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	rows := func(yield func(tables.Entity, error) bool) {
		for i := range tables.Ticks(10) {
			at := schema.RowKey{Ticks: begin + i, Suffix: schema.Number{Boot: "abcdefgh", N: uint64(1 + 2*i)}.String()}
			if !yield(tables.Entity{PartitionKey: "d", RowKey: at.String()}, nil) {
				return
			}
		}
	}
	for spans, missing := range map[*schema.Spans]int64{
		{}:                                   9,
		{{To: begin + 3}}:                    2,
		{{To: begin + 3}, {From: begin + 7}}: 4,
		{{From: begin + 2, To: begin + 4}, {From: begin + 4, To: begin + 5}, {From: begin + 6}}: 4,
	} {
		got := int64(0)
		for d, err := range gapDays("", schema.Member{Device: "d", Spans: *spans}, Question{}, rows) {
			must.Succeed(t, err)
			got += d.Missing
		}
		if got != missing {
			t.Errorf("%v: %d missing, want %d", *spans, got, missing)
		}
	}
}
