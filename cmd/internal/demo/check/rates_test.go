package check

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/rate"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestRatesAreThoseOfTheProcessor: what the check computes with code of its own is what the processor writes, for
// sensors that come and go, several readings at one time, silent days, and spans of any length.
func TestRatesAreThoseOfTheProcessor(t *testing.T) {
	first := uint64(time.Now().UnixNano())
	for seed := first; seed < first+200; seed++ {
		random := rand.New(rand.NewPCG(seed, 1))
		over := time.Duration(1+random.IntN(24*60)) * time.Minute
		m := schema.Member{Month: month, Device: pump, Tenant: "contoso", Readings: "readings"}
		x := &expectation{member: m, outputs: map[place]map[string]output{}, rejected: map[string]bool{},
			points: map[string][]point{}}
		var samples []fold.Sample
		key := schema.RowKey{Ticks: at("03:00:00")}
		for n := range 1 + random.IntN(80) {
			key.Suffix = fmt.Sprintf("%02d", n)
			switch random.IntN(8) {
			case 0: // several at one time
			case 1:
				key.Ticks = key.Ticks.Add(time.Duration(random.IntN(30*60)) * time.Minute)
			default:
				key.Ticks = key.Ticks.Add(time.Duration(random.IntN(3600)) * time.Second)
			}
			e := tables.Entity{PartitionKey: string(pump), RowKey: key.String()}
			for i := range random.IntN(4) {
				e.Set(fmt.Sprint("s", (i+n)%5), tables.Double(random.NormFloat64()*50))
			}
			x.add(e)
			sample, _ := new(fold.Sensors).Sample(must.Have(schema.ReadingOf(e))(t))
			samples = append(samples, sample)
		}
		x.newestRates(tables.Ticks(over / 100))

		fold := (&rate.Config{Over: over}).Fold(fold.Setup{})
		folded := must.Have(fold.Fold(m, nil, samples))(t)
		stored := map[place][]tables.Property{}
		for _, e := range folded.Effects {
			if e.Properties != nil {
				p, _, err := new(checker).parsePartition("rates", e.Output.PartitionKey)
				must.Succeed(t, err)
				stored[place{p, e.Output.RowKey}] = e.Properties
			}
		}
		c := &checker{found: newFindings()}
		for at, properties := range stored {
			c.compare(x, at, properties)
		}
		for at := range x.outputs {
			if at.rates {
				c.compare(x, at, nil)
			}
		}
		if r := c.found.sum(); r.Differences > 0 || r.Rates == 0 && len(samples) > 40 {
			t.Fatalf("seed %d, over %v: %d rates; %v", seed, over, r.Rates, r.First)
		}
	}
}

// withRates adds the rates of the fixture's devices.
func withRates(t *testing.T) *fixture {
	w := newFixture(t)
	w.config.Rates = time.Hour
	must.Succeed(t, w.client.Table("rates").Create(t.Context()))
	point := func(clock, value string) string { return `"` + at(clock).String() + `",` + value }
	steps := func(first, last, rest string) string { return "[" + first + "," + last + "," + rest + ",false]" }
	t1, t3 := point("10:00:10", "1.5"), point("10:01:00", "-4")
	rising, falling := 1/(40.0/3600), -6.5/(10.0/3600)
	rates := fmt.Sprintf("2,-5.5,%v,%v,%v", falling, rising, falling)
	once := func(clock, value string) string {
		return steps(point(clock, value), point(clock, value), "0,0,0,0,0")
	}
	air := map[string]any{"t": steps(t1, t3, rates), "air_p_0": once("10:01:00", "7"), "air_p_1": once("10:01:00", "1")}
	w.rates(pump, "1h", "10:00:00", air)
	w.rates(pump, "1h", "11:00:00", map[string]any{"n": once("11:30:00", "3")})
	air["n"] = once("11:30:00", "3")
	w.rates(pump, "1d", "00:00:00", air)
	w.rates(pump, "", "", map[string]any{"t": fmt.Sprintf("[%s,-6.5,%v,null,null]", t3, falling)})
	w.rates(lift, "1h", "10:00:00", map[string]any{"t": once("10:00:00", "20")})
	w.rates(lift, "1d", "00:00:00", map[string]any{"t": once("10:00:00", "20")})
	return w
}

// rates stores rates of a window, or without one the newest of a device.
func (w *fixture) rates(d schema.DeviceID, window, clock string, properties map[string]any) {
	properties["_fence"] = 7
	if window == "" {
		w.put("rates", latestPartition(d), string(d), properties)
		return
	}
	w.put("rates", rollupPartition(d, window), string(d)+"!"+at(clock).String(), properties)
}

func TestEveryKindOfDifferenceOfRatesIsFound(t *testing.T) {
	once := `["` + at("10:00:00").String() + `",20,"` + at("10:00:00").String() + `",20,0,0,0,0,0,false]`
	daily := func(w *fixture, old, new string) {
		w.rates(lift, "1d", "00:00:00", map[string]any{"t": strings.Replace(once, old, new, 1)})
	}
	for name, c := range map[string]struct {
		plant func(w *fixture)
		want  string // empty: there is none
	}{
		"none": {func(*fixture) {}, ""},
		"a bucket is missing": {func(w *fixture) {
			w.remove("rates", rollupPartition(lift, "1h"), string(lift)+"!"+at("10:00:00").String())
		}, "rates lift:2 1h 2026-11-20T10:00:00Z t: it is absent"},
		"a bucket of no time": {func(w *fixture) {
			w.rates(lift, "1h", "09:00:00", map[string]any{"t": once})
		}, "should be absent"},
		"a wrong value":      {func(w *fixture) { daily(w, ",20,", ",21,") }, "[from 21 of"},
		"a difference twice": {func(w *fixture) { daily(w, ",0,0,", ",1,0,") }, "count 1"},
		"a counter":          {func(w *fixture) { daily(w, "false", "true") }, "an array of two times"},
		"no newest rate":     {func(w *fixture) { w.rates(pump, "", "", map[string]any{}) }, "rates pump-7 t: it is absent"},
		"a newest rate too many": {func(w *fixture) {
			w.rates(lift, "", "", map[string]any{"t": `["` + at("10:00:00").String() + `",20,0,0,null,null]`})
		}, "rates lift:2"},
		"a partition of nobody": {func(w *fixture) {
			w.put("rates", "ghost!2026-03", "x", map[string]any{"t": once})
		}, "it is the partition of no device"},
	} {
		w := withRates(t)
		c.plant(w)
		r := w.check()
		if c.want == "" && (r.Differences > 0 || r.Rates != 11) || c.want != "" && (r.Differences == 0 ||
			!strings.Contains(r.First[0].String(), c.want)) {
			t.Errorf("%s: %d rates, %v", name, r.Rates, r.First)
		}
	}
}
