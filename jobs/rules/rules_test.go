package rules

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestThresholdOpensAndCloses(t *testing.T) {
	b := newBench(t, rule("hot", &Threshold{Sensor: "oil", Limit: Limit{Above: number64(190)}}))
	b.run(at("1m"), sample(at("0s"), "oil", 191))
	b.run(at("2m"), sample(at("90s"), "oil", 195), sample(at("100s"), "rpm", 900), sample(at("105s"), "oil", "broken"))
	b.run(at("3m"), sample(at("2m"), "oil", 190))
	b.want("hot opened 0s (191)", "hot closed 2m0s")
	if id := b.all[1].ID.String(); id != "hot~pump-7~20261120T080000Z" {
		t.Errorf("the id is %s", id)
	}
	if text := b.all[0].Text; text != "oil is 191, above 190" {
		t.Errorf("it says %q", text)
	}
}

// TestLimitsCanBeLabelsOfADevice: each device has its own, and one without them is not watched.
func TestLimitsCanBeLabelsOfADevice(t *testing.T) {
	limit := Limit{Above: &Bound{Label: "max"}, ClearBelow: &Bound{Label: "good"}}
	for _, c := range []struct {
		labels map[string]string
		want   []string
	}{
		{map[string]string{"max": "190", "good": "180"}, []string{"hot opened 1m0s (191)", "hot closed 3m0s"}},
		{map[string]string{"max": "200", "good": "180"}, []string{"hot opened 4m0s (201)"}},
		{map[string]string{"max": "190", "good": "195"}, nil}, // it would open and close at once
		{map[string]string{"max": "much", "good": "180"}, nil},
		{map[string]string{"max": "190"}, nil},
	} {
		b := newBench(t, rule("hot", &Threshold{Sensor: "oil", Limit: limit}))
		b.member.Labels = c.labels
		b.run(at("9m"), sample(at("1m"), "oil", 191), sample(at("2m"), "oil", 185), sample(at("3m"), "oil", 179),
			sample(at("4m"), "oil", 201))
		if len(c.want) > 0 && c.labels["max"] == "190" {
			c.want = append(c.want, "hot opened 4m0s (201)")
		}
		if b.want(c.want...); len(b.all) > 0 && b.all[0].Text != "oil is "+b.all[0].Value+", above "+c.labels["max"] {
			t.Errorf("it says %q", b.all[0].Text)
		}
	}
}

// TestDeviceThatLosesALabelIsNoLongerWatched: nothing else would ever close its incident, as no reading is looked at.
func TestDeviceThatLosesALabelIsNoLongerWatched(t *testing.T) {
	limit := Limit{Above: &Bound{Label: "max"}}
	for name, k := range map[string]Kind{
		"threshold": &Threshold{Sensor: "oil", Limit: limit},
		"rate":      &Rate{Sensor: "oil", Over: time.Minute, Limit: limit},
		"schedule":  doses(t, "labels.dose", "Etc/UTC").When,
	} {
		for _, labels := range []map[string]string{nil, {"max": "much", "dose": "soon"}} {
			b := newBench(t, rule("hot", k))
			b.member.Labels = map[string]string{"max": "190", "dose": "08:01"}
			b.rows(at("-1h"), sample(at("-1h"), "oil", 0))
			b.run(at("61m30s"), sample(at("1m"), "oil", 0), sample(at("2m"), "oil", 191))
			if len(b.all) != 1 || b.all[0].What != schema.Opened {
				t.Fatalf("%s: %s", name, b.said())
			}
			b.member.Labels = labels
			b.run(at("62m"))
			b.run(at("3h"), sample(at("150m"), "oil", 0), sample(at("151m"), "oil", 500))
			if n := len(b.all); n != 2 || b.all[1].Reason != reasonMatch || b.all[1].At != at("62m") {
				t.Errorf("%s, then labels %v: %s", name, labels, b.said())
			}
		}
	}
}

// TestRuleIsForNoDeviceWithoutItsLabels: nor is it counted among those that the rule watches.
func TestRuleIsForNoDeviceWithoutItsLabels(t *testing.T) {
	for name, k := range map[string]Kind{
		"threshold": &Threshold{Sensor: "oil", Limit: Limit{Above: &Bound{Label: "max"}}},
		"schedule":  doses(t, "labels.dose", "Etc/UTC").When,
	} {
		r := rule("hot", k)
		b := newBench(t, r)
		for _, c := range []struct {
			labels map[string]string
			want   bool
		}{
			{map[string]string{"max": "190", "dose": "08:01"}, true},
			{map[string]string{"max": "much", "dose": "soon"}, false},
			{nil, false},
		} {
			b.member.Labels = c.labels
			if one, any := r.Watches(b.member), b.fold.Watches(b.member); one != c.want || any != c.want {
				t.Errorf("%s, labels %v: it watches %v, and any rule does: %v", name, c.labels, one, any)
			}
		}
	}
}

// TestLimitThatIsRaisedMeanwhileIsNotExceeded: a number has to be beyond the limit for so long, and not beyond a former
// one.
func TestLimitThatIsRaisedMeanwhileIsNotExceeded(t *testing.T) {
	limit := Limit{Above: &Bound{Label: "max"}}
	for _, k := range []Kind{
		&Threshold{Sensor: "oil", Limit: limit, For: 5 * time.Minute},
		&Rate{Sensor: "oil", Over: time.Minute, Limit: limit, For: 5 * time.Minute},
	} {
		for max, opened := range map[string]int{"180": 1, "190": 1, "300": 0} {
			b := newBench(t, rule("hot", k))
			b.member.Labels = map[string]string{"max": "190"}
			b.run(at("3m"), sample(at("1m"), "oil", 0), sample(at("2m"), "oil", 200))
			b.member.Labels = map[string]string{"max": max}
			b.run(at("4m"))
			if b.run(at("9m")); len(b.all) != opened {
				t.Errorf("%s of %s: %d incidents: %s", k, max, len(b.all), b.said())
			}
		}
	}
}

func TestForNeedsNoFurtherRow(t *testing.T) {
	b := newBench(t, rule("hot", &Threshold{Sensor: "oil", Limit: Limit{Above: number64(190)}, For: 5 * time.Minute}))
	b.run(at("1m"), sample(at("0s"), "oil", 191))
	b.run(at("5m"))
	b.want()
	b.run(at("5m1s"))
	b.want("hot opened 5m0s (191)")
	b.run(at("9m"), sample(at("8m"), "oil", 100), sample(at("9m"), "oil", 200))
	b.run(at("13m"), sample(at("12m"), "oil", 189))
	b.want("hot opened 5m0s (191)", "hot closed 8m0s")
}

func TestHeldAgainSoonIsTheSameIncident(t *testing.T) {
	b := newBench(t, rule("hot", &Threshold{Sensor: "oil", Limit: Limit{Above: number64(190)}, For: 5 * time.Minute}))
	b.run(at("20m"), sample(at("0s"), "oil", 191), sample(at("6m"), "oil", 100), sample(at("11m"), "oil", 200))
	b.want("hot opened 5m0s (191)", "hot closed 6m0s", "hot reopened 16m0s (200)")
	if first, last := b.all[0].ID, b.all[2].ID; first != last || b.all[2].Number != 3 {
		t.Errorf("incidents %s and %s, transition %d", first, last, b.all[2].Number)
	}
	b.run(at("40m"), sample(at("21m"), "oil", 100), sample(at("27m"), "oil", 200))
	if n := len(b.all); b.all[n-1].What != schema.Opened || b.all[n-1].ID == b.all[0].ID {
		t.Errorf("after more than 5m it is %s", b.all[n-1].ID)
	}
}

func TestClearBelowKeepsAnIncidentOpen(t *testing.T) {
	b := newBench(t, rule("hot", &Threshold{Sensor: "oil", Limit: Limit{Above: number64(190), ClearBelow: number64(180)}}))
	b.run(at("9m"), sample(at("0s"), "oil", 191), sample(at("1m"), "oil", 185), sample(at("2m"), "oil", 191),
		sample(at("3m"), "oil", 180), sample(at("4m"), "oil", 179.5), sample(at("5m"), "oil", 185))
	b.want("hot opened 0s (191)", "hot closed 4m0s")
}

func TestSilenceGoesByWhenReadingsAreFound(t *testing.T) {
	b := newBench(t, rule("silent", &Silence{After: time.Hour}))
	b.run(at("0s"))
	b.run(at("30m"), sample(at("-2h"))) // its clock is slow
	b.run(at("89m"))
	b.want()
	b.run(at("91m"))
	b.want("silent opened 1h30m0s (1h)")
	if text := b.all[0].Text; text != "no reading for 1h, since 2026-11-20T08:30:00Z" {
		t.Errorf("it says %q", text)
	}
	b.run(at("100m"), sample(at("95m"), "x", 1))
	b.want("silent opened 1h30m0s (1h)", "silent closed 1h40m0s")
}

// TestDeviceIsNewUntilItsFirstReading: nothing is expected of it, unless a rule says so.
func TestDeviceIsNewUntilItsFirstReading(t *testing.T) {
	b := newBench(t, rule("silent", &Silence{After: time.Hour}), doses(t, "08:30", "UTC"))
	b.known.New = true
	b.run(at("0s"))
	b.run(at("48h"))
	if b.want(); b.state != nil {
		t.Error("the state of a new device is not empty")
	}
	b.run(at("50h"), sample(at("50h"), "x", 1))
	b.known.New = false
	b.run(at("52h"))
	b.want("silent opened 51h0m0s (1h)")
}

// TestImportedHistoryOpensAndClosesNothing of any kind of rule.
func TestImportedHistoryOpensAndClosesNothing(t *testing.T) {
	b := newBench(t, rule("silent", &Silence{After: time.Hour}),
		rule("hot", &Threshold{Sensor: "oil", Limit: Limit{Above: number64(190)}}))
	past := func(offset string) fold.Sample {
		s := sample(at(offset), "oil", 250)
		s.Past = true
		return s
	}
	if b.run(at("0s"), past("-90h"), past("-80h")); b.state != nil {
		t.Error("the state of a device without a reading of its own is not empty")
	}
	b.run(at("2h"))
	b.want()
	b.run(at("3h"), past("-3h"), sample(at("3h"), "oil", 20))
	b.run(at("5h"))
	b.want("silent opened 4h0m0s (1h)")
	b.run(at("6h"), past("4h"), past("4h30m"))
	b.want("silent opened 4h0m0s (1h)")
}

// TestNothingIsExpectedOfARevokedDevice: what is open closes.
func TestNothingIsExpectedOfARevokedDevice(t *testing.T) {
	b := newBench(t, rule("silent", &Silence{After: time.Hour}))
	b.run(at("0s"), sample(at("0s"), "x", 1))
	b.run(at("2h"))
	b.member.Revoked = true
	b.run(at("3h"))
	b.run(at("9h"))
	b.want("silent opened 1h0m0s (1h)", "silent closed 3h0m0s the device was revoked")
}

func TestConditionHoldsUntilAReadingSaysOtherwise(t *testing.T) {
	b := newBench(t, rule("left-open", &Condition{Where: where(t, `action == "opened"`), For: 5 * time.Minute}))
	b.run(at("1m"), sample(at("0s"), "action", "opened"))
	b.run(at("3m"), sample(at("2m"), "mass", 3)) // a heartbeat
	b.run(at("6m"))
	b.run(at("9m"), sample(at("8m"), "action", "closed"))
	b.want("left-open opened 5m0s (action is opened)", "left-open closed 8m0s")
}

// TestDeviceLeavesWhereItBelongs has a device that is first carried 300 m, and then 1.1 km from its place.
func TestDeviceLeavesWhereItBelongs(t *testing.T) {
	b := newBench(t, rule("taken", &Condition{Where: where(t, "distance(lat, lon) > 500")}))
	b.member.Labels = map[string]string{"lat": "57.15", "lon": "-2.09"}
	b.run(at("9m"), sample(at("1m"), "lat", 57.1527, "lon", -2.09), sample(at("2m"), "lat", 57.16, "lon", -2.09),
		sample(at("3m"), "oil", 190), sample(at("4m"), "lat", 57.15, "lon", -2.09))
	b.want("taken opened 2m0s (lat is 57.16, lon is -2.09)", "taken closed 4m0s")
}

func TestStuckNeedsReadings(t *testing.T) {
	b := newBench(t, rule("stuck", &Stuck{Sensor: "h", For: time.Hour}))
	b.run(at("1m"), sample(at("0s"), "h", 40))
	b.run(at("3h"))
	b.want()
	b.run(at("5h"), sample(at("3h"), "h", 40), sample(at("3h30m"), "h", 40), sample(at("4h"), "h", 40),
		sample(at("4h30m"), "h", 41))
	b.want("stuck opened 4h0m0s (40)", "stuck closed 4h30m0s")
}

// TestValuesThatDifferALittleAreNotStuck: in a late digit, or far behind in a long text.
func TestValuesThatDifferALittleAreNotStuck(t *testing.T) {
	long := strings.Repeat("x", 100)
	for _, values := range [][]any{{1.00000000001, 1.00000000002}, {long + "a", long + "b"}, {"1", 1}} {
		b := newBench(t, rule("stuck", &Stuck{Sensor: "h", For: time.Hour}))
		for n := range 10 {
			b.run(at(fmt.Sprint(n*20, "m")), sample(at(fmt.Sprint(n*20, "m")), "h", values[n%2]))
		}
		b.want()
	}
}

func TestRateIsTheChangeOverTheSpan(t *testing.T) {
	b := newBench(t, rule("rising", &Rate{Sensor: "oil", Over: time.Hour, Limit: Limit{Above: number64(5)}}))
	for n := range 30 {
		oil := 100.0
		if n > 15 {
			oil += float64(n - 15)
		}
		b.run(at(fmt.Sprint(n*5+1, "m")), sample(at(fmt.Sprint(n*5, "m")), "oil", oil))
	}
	b.want("rising opened 1h45m0s (6)")
}

// TestAnotherUnitIsNoChangeOfTheNumber: nothing has happened to the oil when its numbers are in °C from now on, or are
// those of a counter no more.
func TestAnotherUnitIsNoChangeOfTheNumber(t *testing.T) {
	counter := map[string]fold.Counter{"oil": {}}
	celsius := fold.Meaning{Scale: .5, Offset: -17.5}
	for _, c := range []struct {
		before, after fold.Sensors
		first, then   [2]float64
		opened        string
	}{
		{fold.Sensors{}, fold.Sensors{}, [2]float64{200, 200}, [2]float64{82, 82}, "20m"},
		{fold.Sensors{}, fold.Sensors{Named: map[string]fold.Meaning{"oil": {Is: fold.Number}}}, [2]float64{200, 200},
			[2]float64{82, 82}, "20m"},
		{fold.Sensors{}, fold.Sensors{Named: map[string]fold.Meaning{"oil": celsius}}, [2]float64{200, 200},
			[2]float64{82, 82}, "40m"},
		{fold.Sensors{}, fold.Sensors{Patterns: []fold.Pattern{{Prefix: "o", Meaning: celsius}}}, [2]float64{200, 200},
			[2]float64{82, 82}, "40m"},
		{fold.Sensors{Counters: counter}, fold.Sensors{}, [2]float64{200, 10}, [2]float64{11, 12}, "40m"},
	} {
		config := &Config{Rules: []Rule{rule("new", &Never{After: time.Hour}), rule("jump", &Rate{Sensor: "oil",
			Over: 10 * time.Minute, Limit: Limit{Outside: &[2]float64{-50, 50}}})}}
		must.Succeed(t, config.Check())
		b := newBench(t)
		b.fold = config.Fold(fold.Setup{Sensors: c.before}).(*Fold)
		b.known.New = true
		b.run(at("0s")) // from then on there is a state, and the rate begins with the first reading
		b.known.New = false
		b.run(at("10m"), sample(at("1m"), "oil", c.first[0]), sample(at("9m"), "oil", c.first[1]))
		b.fold = config.Fold(fold.Setup{Sensors: c.after}).(*Fold)
		b.run(at("30m"), sample(at("20m"), "oil", c.then[0]), sample(at("29m"), "oil", c.then[1]))
		if b.run(at("60m"), sample(at("40m"), "oil", 300)); len(b.all) == 0 || b.all[0].At != at(c.opened) {
			t.Errorf("from %+v to %+v: %s", c.before, c.after, b.said())
		}
	}
}

func TestCountOpensAndIsClosedByTime(t *testing.T) {
	b := newBench(t, rule("often", &Count{Where: where(t, `door == "open"`), Times: 3, Within: 10 * time.Minute}))
	b.run(at("9m"), sample(at("0s"), "door", "open"), sample(at("1m"), "door", "shut"), sample(at("4m"), "door", "open"),
		sample(at("9m"), "door", "open"))
	b.want("often opened 9m0s (3)")
	b.run(at("10m"))
	b.run(at("11m"))
	b.want("often opened 9m0s (3)", "often closed 10m0s")
}

func TestHistoryIsQuietUnlessItIsStillOpen(t *testing.T) {
	hot := rule("hot", &Threshold{Sensor: "oil", Limit: Limit{Above: number64(190)}})
	b := newBench(t, hot)
	b.run(at("3h"), sample(at("0s"), "oil", 191), sample(at("1m"), "oil", 180), sample(at("2m"), "oil", 200))
	b.want("hot opened 0s (191) quietly", "hot closed 1m0s quietly", "hot opened 2m0s (200) quietly",
		"hot announced 2m0s (200)")
	b.run(at("4h"))
	if len(b.all) != 4 {
		t.Errorf("it is announced again: %s", b.said())
	}
}

// TestAnnouncementSaysAValueForWhichTheRuleHolds: a later one has not cleared it, but is within the limit.
func TestAnnouncementSaysAValueForWhichTheRuleHolds(t *testing.T) {
	limit := Limit{Above: number64(190), ClearBelow: number64(180)}
	b := newBench(t, rule("hot", &Threshold{Sensor: "oil", Limit: limit}))
	b.run(at("5h"), sample(at("1m"), "oil", 200), sample(at("2m"), "oil", 210), sample(at("3m"), "oil", 185))
	b.want("hot opened 1m0s (200) quietly", "hot announced 1m0s (210)")
	if text := b.all[1].Text; text != "oil is 210, above 190" {
		t.Errorf("it says %q", text)
	}
	b.run(at("6h"), sample(at("359m"), "oil", 179))
	if closed := b.all[2]; closed.Value != "179" {
		t.Errorf("it closes with %s", closed.Value)
	}
}

func TestChangedAndRemovedRulesCloseTheirIncidents(t *testing.T) {
	hot := func(above float64) Rule {
		return rule("hot", &Threshold{Sensor: "oil", Limit: Limit{Above: &Bound{Number: above}}})
	}
	b := newBench(t, hot(190))
	b.run(at("1m"), sample(at("0s"), "oil", 195))
	b.configure(hot(192))
	b.run(at("2m"))
	b.run(at("3m"), sample(at("150s"), "oil", 195))
	b.configure()
	b.run(at("4m"))
	b.want("hot opened 0s (195)", "hot closed 2m0s the rule was changed", "hot opened 2m30s (195)",
		"hot closed 4m0s the rule was removed")
	if b.state == nil {
		t.Error("a state that has to be removed is nil")
	}
}

// TestRuleForOtherSitesIsNoLongerForADevice: two lists are not the same because they look alike in a row.
func TestRuleForOtherSitesIsNoLongerForADevice(t *testing.T) {
	of := func(match fold.Match) Rule {
		r := rule("hot", &Threshold{Sensor: "oil", Limit: Limit{Above: number64(190)}})
		r.Match.Match = match
		return r
	}
	for _, c := range [][2]fold.Match{
		{{Site: []string{"north", "gate"}}, {Site: []string{"north gate"}}},
		{{Labels: map[string][]string{"hall": {"north", "b"}}}, {Labels: map[string][]string{"hall": {"north b"}}}},
	} {
		b := newBench(t, of(c[0]))
		b.member.Site, b.member.Labels = "north", map[string]string{"hall": "north"}
		b.run(at("1m"), sample(at("0s"), "oil", 195))
		b.configure(of(c[1]))
		b.run(at("2m"))
		b.want("hot opened 0s (195)", "hot closed 2m0s the rule is no longer for this device")
	}
}

// TestRuleOfAnotherModelWasNotRemoved: a device that gets another model is one that the rule is no longer for.
func TestRuleOfAnotherModelWasNotRemoved(t *testing.T) {
	hot := rule("hot", &Threshold{Sensor: "oil", Limit: Limit{Above: number64(190)}})
	hot.Match.Model = []string{"rig"}
	c := &Config{Rules: []Rule{hot}}
	must.Succeed(t, c.Check())
	b := newBench(t)
	b.fold = c.Fold(fold.Setup{Model: "rig"}).(*Fold)
	b.run(at("1m"), sample(at("0s"), "oil", 195))
	b.fold = c.Fold(fold.Setup{Model: "pump"}).(*Fold)
	b.run(at("2m"))
	b.want("hot opened 0s (195)", "hot closed 2m0s the rule is no longer for this device")
}

func TestNoisyThreshold(t *testing.T) {
	count := func(k *Threshold) int {
		k.Sensor, k.Above = "oil", number64(190)
		b := newBench(t, rule("hot", k))
		for n := range 600 { // ten hours around the limit, then one of heat, then calm
			oil := 190.0 + 4*float64((n*7919)%13-6)/6
			switch {
			case n > 540:
				oil = 150
			case n > 480:
				oil = 210
			}
			b.run(at(fmt.Sprint(n, "m")), sample(at(fmt.Sprint(n, "m")), "oil", oil))
		}
		opened := 0
		for _, t := range b.all {
			if t.What == schema.Opened {
				opened++
			}
		}
		return opened
	}
	plain, held := count(&Threshold{}), count(&Threshold{For: 10 * time.Minute})
	cleared := count(&Threshold{Limit: Limit{ClearBelow: number64(180)}})
	t.Logf("incidents: %d without for and clearBelow, %d with for: 10m, %d with clearBelow: 180", plain, held, cleared)
	if plain < 50 || held != 1 || cleared != 1 {
		t.Error("want many, 1 and 1")
	}
}

// TestNumbersOfALimitAreThoseOfTheDevice: that of a label is another one for each.
func TestNumbersOfALimitAreThoseOfTheDevice(t *testing.T) {
	for want, limit := range map[string]Limit{"[5]": {Above: &Bound{Number: 5}}, "[2 8]": {Outside: &[2]float64{2, 8}},
		"[3]": {Below: &Bound{Label: "least"}}, "[]": {Above: &Bound{Label: "most"}}, "[7]": {Above: &Bound{Number: 7},
			ClearBelow: &Bound{Label: "least"}}} {
		if got := fmt.Sprint(limit.Numbers(map[string]string{"least": "3", "most": "much"})); got != want {
			t.Errorf("%+v has %s, want %s", limit, got, want)
		}
	}
}
