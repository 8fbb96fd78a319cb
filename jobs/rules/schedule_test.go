package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func doses(t testing.TB, times, zone string) Rule {
	return rule("dose", &Schedule{Times: times, Zone: zone, Before: time.Hour, After: time.Hour,
		Expect: where(t, "taken > 0")})
}

// TestEachDayHasEachTimeOnce follows a device that takes nothing over both changes of daylight saving: each time of
// each day is missed once, whatever the clock skips or repeats.
func TestEachDayHasEachTimeOnce(t *testing.T) {
	times := []string{"00:30", "01:45", "02:15", "02:45", "03:15", "14:00"}
	for zone, changes := range map[string][]string{
		"Europe/Rome":         {"2026-03-29", "2026-10-25"},
		"America/New_York":    {"2026-03-08", "2026-11-01"},
		"Australia/Lord_Howe": {"2026-10-04", "2026-04-05"},
		"Asia/Kolkata":        {"2026-03-29"},
	} {
		location := must.Have(time.LoadLocation(zone))(t)
		for _, change := range changes {
			day := must.Have(time.ParseInLocation(time.DateOnly, change, location))(t)
			for _, step := range []time.Duration{7 * time.Minute, 6 * 24 * time.Hour} { // many runs, or one
				b := newBench(t, doses(t, strings.Join(times, ","), zone))
				from, to := day.Add(-48*time.Hour), day.Add(72*time.Hour)
				b.known.Heard = tables.TicksOf(from)
				b.run(tables.TicksOf(from))
				for at := from; at.Before(to); {
					at = at.Add(step)
					b.run(tables.TicksOf(at))
				}
				missed := map[string]int{}
				for _, one := range b.all {
					if one.What == schema.Opened {
						missed[one.Since.Time().In(location).Format("02 ")+one.Value]++
					}
				}
				for n := range 3 {
					date := day.AddDate(0, 0, n-1).Format("02 ")
					for _, of := range times {
						if missed[date+of] != 1 && !skipped(t, day.AddDate(0, 0, n-1), of, times, location) {
							t.Errorf("%s, in steps of %v: %s%s is missed %d times: %v", zone, step, date, of, missed[date+of], missed)
						}
					}
				}
			}
		}
	}
}

// skipped reports whether a clock skips a time of a day, and another scheduled time is at that moment.
func skipped(t testing.TB, day time.Time, of string, times []string, zone *time.Location) bool {
	clock := must.Have(time.Parse("15:04", of))(t)
	wall := time.Date(day.Year(), day.Month(), day.Day(), clock.Hour(), clock.Minute(), 0, 0, time.UTC)
	shown := atWall(tables.TicksOf(wall), zone).Time().In(zone).Format("15:04")
	return shown != of && slices.Contains(times, shown)
}

func TestSkippedAndRepeatedTimes(t *testing.T) {
	for _, c := range []struct{ zone, wall, want string }{
		{"Europe/Rome", "2026-03-29 02:30", "2026-03-29 01:30"},         // it is 03:30
		{"Europe/Rome", "2026-03-29 03:30", "2026-03-29 01:30"},         //
		{"Europe/Rome", "2026-10-25 02:30", "2026-10-25 00:30"},         // the first of two
		{"America/New_York", "2026-03-08 02:30", "2026-03-08 07:30"},    // it is 03:30
		{"America/New_York", "2026-11-01 01:30", "2026-11-01 05:30"},    // the first of two
		{"Australia/Lord_Howe", "2026-10-04 02:15", "2026-10-03 15:45"}, // by half an hour: it is 02:45
		{"Australia/Lord_Howe", "2026-04-05 01:45", "2026-04-04 14:45"}, // the first of two
		{"Pacific/Apia", "2011-12-30 08:00", "2011-12-30 18:00"},        // a day that never was
		{"Etc/UTC", "2026-03-29 02:30", "2026-03-29 02:30"},
	} {
		const layout = "2006-01-02 15:04"
		wall := must.Have(time.Parse(layout, c.wall))(t)
		got := atWall(tables.TicksOf(wall), must.Have(time.LoadLocation(c.zone))(t))
		if text := got.Time().Format(layout); text != c.want {
			t.Errorf("%s in %s is %s UTC; want %s", c.wall, c.zone, text, c.want)
		}
	}
}

// TestWindowsOfSchedulesAreHalfOpen: from before to after, without the moment at which it ends.
func TestWindowsOfSchedulesAreHalfOpen(t *testing.T) {
	for taken, want := range map[string][]string{ // the window is from 2h to 4h after the start
		"2h":              nil,
		"3h59m59.999999s": nil,
		"1h59m59.999999s": {"dose opened 4h0m0s (11:00)"},
		"4h":              {"dose opened 4h0m0s (11:00)", "dose closed 4h0m0s"},
	} {
		b := newBench(t, doses(t, "11:00", "UTC"))
		b.known.Heard = at("0s")
		b.run(at("1m"))
		b.run(at("5h"), sample(at(taken), "taken", 1))
		if b.want(want...); t.Failed() {
			t.Fatalf("taken after %s", taken)
		}
	}
}

// TestNothingIsExpectedDuringAPause that a label states, by the dates of the device's own clock.
func TestNothingIsExpectedDuringAPause(t *testing.T) {
	r := doses(t, "11:00", "America/New_York") // 16:00 UTC, 8 hours after the start
	r.When.(*Schedule).Pause = "labels.away"
	both := []string{"dose opened 9h0m0s (11:00)", "dose closed 33h0m0s the next one is due",
		"dose opened 33h0m0s (11:00)"}
	for away, want := range map[string][]string{
		"":                                   both,
		"2026-11-20":                         {"dose opened 33h0m0s (11:00)"},
		"2026-11-21..2026-11-30":             {"dose opened 9h0m0s (11:00)"},
		"2026-11-01..2026-11-20, 2026-11-21": nil,
		"tomorrow":                           both,
	} {
		b := newBench(t, r)
		b.known.Heard, b.member.Labels = at("0s"), map[string]string{"away": away}
		b.run(at("1m"))
		b.run(at("10h"))
		b.run(at("34h"))
		if b.want(want...); t.Failed() {
			t.Fatalf("away %q", away)
		}
	}
	r.When.(*Schedule).Pause = "next week"
	if err := (&Config{Rules: []Rule{r}}).Check(); err == nil || !strings.Contains(err.Error(), "2026-12-20..2027-01-03") {
		t.Errorf("a pause of next week: %v", err)
	}
}

// TestWhatFollowsALongPauseIsExpected: however long the pause is, and whether other pauses follow it.
func TestWhatFollowsALongPauseIsExpected(t *testing.T) {
	for pause, missed := range map[string]int{ // of fourteen
		"2026-11-21..2026-11-22":                         12,
		"2026-11-21..2026-11-24":                         10,
		"2026-11-21..2026-11-30":                         4,
		"2026-11-26..2026-12-02, 2026-11-21..2026-11-25": 2,
		"2026-11-21..2026-11-24, 2026-11-26..2026-12-01": 4,
		"2026-11-20..2026-11-30, 2027-02-01..2027-04-01": 3,
		"2026-11-20..2027-02-01":                         0,
	} {
		r := doses(t, "11:00", "America/New_York") // 16:00 UTC, 8 hours after the start
		r.When.(*Schedule).Pause = pause
		for _, step := range []time.Duration{time.Hour, 14 * 24 * time.Hour} { // many runs, or one
			b := newBench(t, r)
			b.known.Heard = at("0s")
			b.run(at("1m"))
			for after := step; after <= 14*24*time.Hour; after += step {
				b.run(tables.TicksOf(start.Add(after)))
			}
			if n := strings.Count(b.said(), "dose opened"); n != missed {
				t.Errorf("pause %s, in steps of %v: %d are missed; want %d:\n%s", pause, step, n, missed, b.said())
			}
		}
	}
}

// TestPauseThatEndsEarlyHasMissedNothing: what passed while it was stated was not expected.
func TestPauseThatEndsEarlyHasMissedNothing(t *testing.T) {
	r := doses(t, "11:00", "UTC") // 3 hours after the start
	r.When.(*Schedule).Pause = "labels.away"
	for _, away := range []string{"", "2026-11-21..2026-11-22"} {
		b := newBench(t, r)
		b.known.Heard, b.member.Labels = at("0s"), map[string]string{"away": "2026-11-20..2026-11-30"}
		b.run(at("1m"))
		b.run(at("90h"))
		b.member.Labels = map[string]string{"away": away}
		b.run(at("91h"))
		b.run(at("99h30m"))
		b.want()
		b.run(at("101h"))
		b.want("dose opened 100h0m0s (11:00)")
	}
}

func TestDoseIsTakenEarlyLateOrNot(t *testing.T) {
	b := newBench(t, doses(t, "09:00,12:00", "Etc/UTC"))
	b.run(at("0s"))
	b.run(at("40m"), sample(at("30m"), "taken", 0), sample(at("35m"), "taken", 2)) // for 09:00
	b.run(at("4h59m"))
	b.want()
	b.run(at("5h1m"))
	b.want("dose opened 5h0m0s (12:00)")
	b.run(at("6h"), sample(at("5h30m"), "taken", 1))
	b.run(at("26h1m"))
	b.run(at("29h1m"))
	b.run(at("30h"), sample(at("28h30m"), "taken", 1))
	b.want("dose opened 5h0m0s (12:00)", "dose closed 5h30m0s", "dose opened 26h0m0s (09:00)",
		"dose closed 29h0m0s the next one is due", "dose opened 29h0m0s (12:00)", "dose closed 29h0m0s late data")
}

// TestDeviceThatChangesItsZone flies from Rome to New York and back: no time is judged twice, and none that has passed.
func TestDeviceThatChangesItsZone(t *testing.T) {
	b := newBench(t, doses(t, "labels.dose", "labels.tz"))
	b.known.Heard = at("-1h")
	b.run(at("0s"))
	if b.state != nil && len(b.all) > 0 {
		t.Error("a device without labels misses something")
	}
	in := func(zone string) { b.member.Labels = map[string]string{"dose": "12:00", "tz": zone} }
	in("Europe/Rome") // 11:00 UTC, three hours after the start
	b.run(at("1m"))
	b.run(at("4h1m"))
	b.want("dose opened 4h0m0s (12:00)")
	in("America/New_York") // the same 12:00 comes again, at 17:00 UTC
	b.run(at("4h2m"))
	b.run(at("11h"))
	b.want("dose opened 4h0m0s (12:00)")
	b.run(at("34h1m")) // the next day's
	in("Europe/Rome")
	b.run(at("35h"))
	b.run(at("52h1m"))
	b.want("dose opened 4h0m0s (12:00)", "dose closed 34h0m0s the next one is due", "dose opened 34h0m0s (12:00)",
		"dose closed 52h0m0s the next one is due", "dose opened 52h0m0s (12:00)")
}

// TestTimesThatChangeHaveNotPassedUnseen: a rule about new devices has a state before the first reading, with which the
// other rules begin.
func TestTimesThatChangeHaveNotPassedUnseen(t *testing.T) {
	b := newBench(t, rule("new", &Never{After: 24 * time.Hour}), doses(t, "labels.dose", "UTC"))
	b.known.New = true
	b.member.Labels = map[string]string{"dose": "06:00"}
	b.run(at("0s"))
	b.known = fold.Known{Heard: at("0s")}
	b.run(at("2m"), sample(at("1m"), "taken", 0))
	b.member.Labels = map[string]string{"dose": "10:00"} // over at 11:00, three hours after the start
	b.run(at("3h1m"))
	b.want()
	b.run(at("28h"))
	b.want("dose opened 27h0m0s (10:00)")
}

// TestFullOutboxLosesNothing folds so many transitions at once that the outbox is full many times.
func TestFullOutboxLosesNothing(t *testing.T) {
	var all []Rule
	for n := range 12 {
		limit := float64(n)
		all = append(all, rule(fmt.Sprint("r", n), &Threshold{Sensor: "x", Limit: Limit{Above: &Bound{Number: limit}}}))
	}
	all = append(all, doses(t, "06:00,12:00,18:00", "Europe/Rome"))
	var samples []fold.Sample
	for n := range 60 {
		samples = append(samples, sample(at(fmt.Sprint(n*7, "h")), "x", 20*(n%2)))
	}
	one, many := newBench(t, all...), newBench(t, all...)
	one.run(at("420h"), samples...)
	if len(one.all) < 60*12 {
		t.Fatalf("%d transitions", len(one.all))
	}
	for i := range samples {
		many.rows(at("420h"), samples[i])
	}
	many.run(at("420h"))
	if got, want := many.said(), one.said(); got != want {
		t.Errorf("one by one:\n%s\nat once:\n%s", got, want)
	}
}
