package archive_test

import (
	"fmt"
	"testing"

	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// opens adds a partition whose day is open: it has hours.
func (x *mergeFleet) opens(t testing.TB) {
	t.Helper()
	n := len(x.parts)
	of := x.day
	of.Month = x.member(n).Month
	x.joins(t, n)
	for _, hour := range hoursOf(of)[:5] {
		must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), hour))
	}
	x.parts = append(x.parts, of)
}

// TestMergesBesideHours: while the days of some partitions become one file, another's hours come, and its day replaces
// them; at each operation of one, the other is done. Each reading is there once.
func TestMergesBesideHours(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	merge := mergeActs()["merge"]
	acts := map[string]func(*mergeFleet, *testing.T, policy.Transporter){
		"hour": func(x *mergeFleet, t *testing.T, through policy.Transporter) {
			x.sends(t, 5)
			must.Succeed(t, x.maker(t, through).MakeDay(t.Context(), hoursOf(x.parts[5])[0]))
		},
		"day's end": func(x *mergeFleet, t *testing.T, through policy.Transporter) {
			x.sends(t, 5)
			must.Succeed(t, x.maker(t, through).MakeDay(t.Context(), x.parts[5]))
		},
	}
	beside := func(name string, summed bool, one, other func(*mergeFleet, *testing.T, policy.Transporter)) {
		t.Run(fmt.Sprint(name, ", summed ", summed), func(t *testing.T) {
			t.Parallel()
			effort.Each(t, 37, func(t *testing.T, at int) bool {
				x := newMerge(t, 5, summed)
				x.opens(t)
				return x.besideAt(t, at, one, other)
			})
		})
	}
	for _, summed := range []bool{false, true} {
		for what, act := range acts {
			beside(what+" beside a merge", summed, act, merge)
			beside("merge beside "+what, summed, merge, act)
		}
		beside("hour beside the day's end", summed, acts["hour"], acts["day's end"])
		beside("day's end beside an hour", summed, acts["day's end"], acts["hour"])
	}
}
