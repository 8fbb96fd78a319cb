package main

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"furrow/cmd/internal/config"
	"furrow/cmd/internal/lab/simulate/fleets"
	"furrow/jobs/fold"
	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// ruleOfFault are the rules of the examples that find the faults of the simulated fleets.
var ruleOfFault = map[string]schema.Rule{"silence": "silent", "stuck sensor": "stuck", "too hot": "overheating",
	"dose missed": "missed-dose", "left open": "left-open", "warming": "warming"}

// TestExamplesFindTheFaultsOfTheirFleets has each fleet send its history, and the rules of its example watch. They find
// all faults that were put in and that they had the time to find, and nothing else.
func TestExamplesFindTheFaultsOfTheirFleets(t *testing.T) {
	for _, name := range fleets.Names() {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) { findsFaults(t, name, seed+1) })
		}
	}
}

// A wrong is a time of a device in which something is wrong, or said to be.
type wrong struct {
	rule     schema.Rule
	device   schema.DeviceID
	from, to time.Time
}

func (w wrong) meets(o wrong) bool {
	return w.device == o.device && !w.from.After(o.to) && !o.from.After(w.to)
}

func findsFaults(t *testing.T, name string, seed uint64) {
	c, err := config.Parse(name, []byte(text(t, "examples/"+name+".yaml")))
	must(t, err)
	until := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	f, err := fleets.New(fleets.Config{Kind: name, Seed: seed, Until: until})
	must(t, err)
	from := until.Add(-f.History())
	var found []wrong
	first := map[schema.DeviceID]time.Time{}
	for _, m := range f.Members() {
		member := schema.Member{Device: m.ID, Tenant: m.Tenant, Site: m.Site, Labels: m.Labels,
			Month: schema.MonthOf(m.Deployed, 0)}
		meant := c.Model(member).Meant()
		var samples []fold.Sample
		for s := range f.Sendings(m, from) {
			if s.Due.After(until) {
				break
			}
			sample, err := sampleOf(&meant, member, s)
			must(t, err)
			samples = append(samples, sample)
		}
		slices.SortStableFunc(samples, func(a, b fold.Sample) int { return a.Key.Compare(b.Key) })
		first[m.ID] = samples[0].Key.Ticks.Time()
		watching := (&rules.Config{Rules: c.Rules}).Fold(fold.Setup{Sensors: meant}).(*rules.Fold)
		known := fold.Known{New: true, Every: c.Model(member).Every}
		for one, err := range watching.Replay(member, known, query.Records(samples, nil), tables.TicksOf(from),
			tables.TicksOf(until)) {
			must(t, err)
			if one.What == schema.Opened || one.What == schema.Reopened {
				found = append(found, wrong{one.ID.Rule, m.ID, one.Since.Time(), until})
				continue
			}
			for i := range slices.Backward(found) {
				if found[i].rule == one.ID.Rule {
					found[i].to = one.At.Time()
					break
				}
			}
		}
	}
	lookForFaults(t, f, c, found, first, until)
}

// lookForFaults compares what was found with what was put in.
func lookForFaults(t *testing.T, f *fleets.Fleet, c *config.Config, found []wrong, first map[schema.DeviceID]time.Time,
	until time.Time) {
	t.Helper()
	var faults, silences []wrong
	for _, one := range f.Faults(until) {
		rule := ruleOfFault[one.Fault]
		if !slices.ContainsFunc(c.Rules, func(r rules.Rule) bool { return r.Name == rule }) {
			if one.Fault != "bad quality" { // its values are shown as doubtful, and no rule sees them
				t.Errorf("the example has no rule for %s", one.Fault)
			}
			continue
		}
		w := wrong{rule, one.Device, one.From, one.To}
		if faults = append(faults, w); rule == "silent" {
			w.from, w.to = w.from.Add(-f.Every), w.to.Add(f.Every)
			silences = append(silences, w)
		}
	}
	counts := map[schema.Rule]int{}
	for _, w := range faults {
		margin := time.Duration(longest(c, w.rule)) + 2*f.Every
		missing := w.rule != "silent" && slices.ContainsFunc(silences, wrong{"", w.device, w.from.Add(-margin),
			w.to.Add(margin)}.meets)
		if w.from.After(until.Add(-margin)) || w.from.Before(first[w.device].Add(margin)) || missing {
			continue // there was no time to find it, or the device did not say it
		}
		counts[w.rule]++
		if !slices.ContainsFunc(found, func(o wrong) bool { return o.rule == w.rule && o.meets(w) }) {
			t.Errorf("not found: %s of %s, %v to %v", w.rule, w.device, w.from, w.to)
		}
	}
	for _, w := range found {
		if !slices.ContainsFunc(faults, func(o wrong) bool {
			return o.rule == w.rule && w.meets(wrong{"", o.device, o.from.Add(-f.Every), o.to.Add(f.Every)})
		}) && !slices.ContainsFunc(silences, w.meets) {
			t.Errorf("false: %s of %s, %v to %v", w.rule, w.device, w.from, w.to)
		}
	}
	if t.Log(counts); len(counts) < len(c.Rules) {
		t.Errorf("faults by rule: %v", counts)
	}
}

// longest returns how long a rule may need to find what it watches for.
func longest(c *config.Config, name schema.Rule) time.Duration {
	for i := range c.Rules {
		switch k := c.Rules[i].When.(type) {
		case *rules.Silence:
			if c.Rules[i].Name == name {
				return max(k.After, schema.Overdue*c.Models[0].Every)
			}
		case *rules.Stuck:
			if c.Rules[i].Name == name {
				return k.For
			}
		case *rules.Rate:
			if c.Rules[i].Name == name {
				return 2 * k.Over
			}
		case *rules.Schedule:
			if c.Rules[i].Name == name {
				return k.Before + k.After
			}
		case *rules.Condition:
			if c.Rules[i].Name == name {
				return k.For
			}
		}
	}
	return 0
}
