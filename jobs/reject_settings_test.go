package jobs_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// refusedAgain returns the number of rejects, and the rows in the ring, after settings have changed so that each of the
// good rows of four days is refused, and the bad rows that follow are refused as before. Jobs make so many rows again
// at a time.
func refusedAgain(t *testing.T, good, bad, portion, wide int) (counted int64, kept []string) {
	t.Helper()
	start := floorDay(time.Now()).Add(-6 * 24 * time.Hour)
	every := 4 * 24 * time.Hour / time.Duration(good)
	f := seedDevice(t, good, func(n int) tables.Entity {
		e := temperature(start.Add(time.Duration(n)*every), 20)
		for i := range wide {
			e.Set(fmt.Sprintf("sensor_with_a_long_name_%d", i), tables.Double(1))
		}
		return e
	})
	send(t, f, bad, badRows(0, tables.TicksOf(start.Add(4*24*time.Hour-time.Minute))))
	p := f.Pipeline(t, nil)
	p.Settings = "latest:1,rollup:1,rate:1"
	must.Succeed(t, f.Settle(t.Context(), p))
	if n := rejectCount(t, f); n != int64(bad) {
		t.Fatalf("%d rejects are counted of %d", n, bad)
	}
	p.Sensors.Long = fold.Long{Name: "tag", Value: "temperature"} // which no row has
	p.Settings = "latest:2,rollup:2,rate:2"
	p.Portion, p.Most = portion, portion
	for range 2 {
		must.Succeed(t, f.Settle(t.Context(), p))
		jobstest.Do(t, p, f.Audit(refold.Full), jobstest.NoPut{})
	}
	of := map[int64]string{}
	for n, r := range ring(t, f, "live") {
		of[n] = r.Row
	}
	numbers := slices.Sorted(maps.Keys(of))
	for _, n := range numbers {
		kept = append(kept, of[n])
	}
	counted = rejectCount(t, f)
	if newest := numbers[len(numbers)-1]; newest != counted-1 {
		t.Errorf("the newest reject is number %d of %d", newest, counted)
	}
	return counted, kept
}

// TestRejectsOfChangedSettingsDoNotDependOnPortions, however many the ring has forgotten when the settings change.
func TestRejectsOfChangedSettingsDoNotDependOnPortions(t *testing.T) {
	t.Parallel()
	const good = 240
	for _, bad := range []int{0, 80, 300} {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			t.Parallel()
			_, want := refusedAgain(t, good, bad, 5000, 0)
			if len(want) != schema.RejectSlots {
				t.Errorf("%d rejects are kept", len(want))
			}
			for _, portion := range []int{25, 90, 5000} {
				counted, kept := refusedAgain(t, good, bad, portion, 0)
				if counted != int64(good+bad) {
					t.Errorf("portions of %d: %d rejects are counted of %d, and %d before", portion, counted, good, bad)
				}
				if !slices.Equal(kept, want) {
					t.Errorf("portions of %d: %d rejects are kept, others than in one portion", portion, len(kept))
				}
			}
		})
	}
}

// TestLongRejectsOfADayInPortionsAreKept: what a tracking row carries from a portion to the next is bounded, and texts
// are shortened rather than rejects lost.
func TestLongRejectsOfADayInPortionsAreKept(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	const good = 400 // a hundred a day
	counted, kept := refusedAgain(t, good, 0, 95, 20)
	if counted != good || len(kept) != schema.RejectSlots {
		t.Errorf("%d rejects are counted of %d, and %d kept", counted, good, len(kept))
	}
}
