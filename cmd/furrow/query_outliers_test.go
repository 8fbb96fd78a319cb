package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
)

// addSites adds devices at cold and warm sites of two tenants that send every five minutes for eight hours. change
// returns what one sends instead; false: nothing.
func (f *fixture) addSites(change func(device string, at time.Duration, value float64) (tables.Value, bool)) {
	f.t.Helper()
	random, end := rand.New(rand.NewPCG(1, 2)), time.Now().Add(-time.Minute)
	for _, tenant := range []schema.Tenant{"contoso", "fabrikam"} {
		for i, site := range []schema.Site{"cold", "warm"} {
			for n := range 8 {
				d := newDevice(schema.DeviceID(fmt.Sprintf("%s-%s-%d", tenant, site, n)), tenant, 2026, time.November)
				d.Site, d.Labels = site, map[string]string{"floor": fmt.Sprint(n / 4)}
				var rows []tables.Entity
				for ago := 8 * time.Hour; ago >= 0; ago -= 5 * time.Minute {
					value := 8 + 23*float64(i) + 0.2*random.NormFloat64() + 2*ago.Hours()
					v, sends := change(string(d.ID), 8*time.Hour-ago, value)
					if !sends {
						continue
					}
					e := reading(d.ID, end.Add(-ago), 0)
					e.Set("temperature", v)
					rows = append(rows, e)
				}
				f.add(d, rows...)
			}
		}
	}
}

// kinds returns what queries find, by device.
func kinds(t *testing.T, f *fixture, command string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, o := range jsonOf[answers.Outlier](t, f.must(command+" --json")) {
		all[o.Device] += o.Kind
	}
	return all
}

// TestOutliersOfAFleetAreItsWrongDevices folds a fleet with a wrong device of each kind, and asks for all of them, and
// for those of a site and a sensor. One that reads as much as another site does is off, too.
func TestOutliersOfAFleetAreItsWrongDevices(t *testing.T) {
	f := newFixture(t)
	f.createTables()
	file := filepath.Join(t.TempDir(), "site.yaml")
	writeFile(t, file, "pipelines: [{name: live, cadence: 1m, processors: [latest, rollup]}]\nevery: 5m\n"+
		"sensors: {temperature: {type: number, unit: °C}}\n")
	f.must("config apply " + file)
	n := 0
	f.addSites(func(device string, at time.Duration, value float64) (tables.Value, bool) {
		switch device {
		case "contoso-cold-1":
			value += 23
		case "contoso-warm-2":
			value = 33
		case "contoso-cold-3":
			value += 3 * at.Hours()
		case "fabrikam-warm-4":
			if n++; n%2 == 0 {
				value += 6
			}
		case "fabrikam-cold-5":
			return tables.Double(value), at < 7*time.Hour
		case "fabrikam-cold-6":
			if at > 4*time.Hour && at < 5*time.Hour {
				return tables.String("broken"), true
			}
		}
		return tables.Double(value), true
	})
	f.must("schedule --once")
	f.work()
	want := map[string]string{"contoso-cold-1": "off", "contoso-warm-2": "stuck", "contoso-cold-3": "drifting",
		"fabrikam-warm-4": "noisy", "fabrikam-cold-5": "silent", "fabrikam-cold-6": "rejected"}
	if got := kinds(t, f, "query --outliers"); !maps.Equal(got, want) {
		t.Errorf("%v stand out; want %v", got, want)
	}
	for command, want := range map[string]map[string]string{
		"query --outliers --tenant contoso --site warm": {"contoso-warm-2": "stuck"},
		"query --outliers --tenant contoso --label floor=0": {"contoso-cold-1": "off", "contoso-warm-2": "stuck",
			"contoso-cold-3": "drifting"},
		"query --outliers --sensors humidity": {"fabrikam-cold-5": "silent", "fabrikam-cold-6": "rejected"},
		"query --outliers --limit 1":          {"contoso-warm-2": "stuck"},
	} {
		if got := kinds(t, f, command); !maps.Equal(got, want) {
			t.Errorf("%s: %v; want %v", command, got, want)
		}
	}
	out := f.must("query --outliers --format table --site cold")
	for _, says := range []string{"the median of 7 devices of site cold is ", "°C/h from 7 devices",
		"11 readings were rejected in the last day", "nothing was heard for three intervals, since 2"} {
		if !strings.Contains(out, says) {
			t.Errorf("it does not say %q:\n%s", says, out)
		}
	}
	f.refused(exitUsage, "name no DEVICE", "query pump-7 --outliers")
	f.refused(exitUsage, "exclude each other", "query --outliers --latest")
	f.refused(anyFailure, "no device belongs", "query --outliers --tenant nobody")
	if _, errs := f.both("query --outliers --site nowhere"); !strings.Contains(errs, ": 0 devices compared") {
		t.Errorf("of a site without devices: %s", errs)
	}
}

func TestNoDeviceStandsOutOfAFleetWithoutAFault(t *testing.T) {
	f := newFixture(t)
	f.createTables()
	f.addSites(func(_ string, _ time.Duration, value float64) (tables.Value, bool) { return tables.Double(value), true })
	f.must("schedule --once")
	f.work()
	if _, errs := f.both("query --outliers"); !strings.Contains(errs, "no device stands out: 32 devices compared") {
		t.Errorf("it says %s", errs)
	}
}
