package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/cost"
)

// newReportingFixture has a fleet without devices, whose pipeline makes reports.
func newReportingFixture(t *testing.T) *fixture {
	t.Helper()
	f := newObservedFixture(t)
	file := filepath.Join(t.TempDir(), "site.yaml")
	writeFile(t, file, `
pipelines: [{name: live, cadence: 1s, settle: 1s, processors: [latest, rollup: {windows: [1h, 1d]}]}]
reports: {windows: [1h, 1d], by: [tenant]}
`)
	f.must("config apply " + file)
	return f
}

// newCostlyFleet has 300 devices of three tenants, and runs that have folded and reported their readings.
func newCostlyFleet(t *testing.T) (f *fixture, counted map[schema.Tenant]schema.Stored) {
	t.Helper()
	f = newReportingFixture(t)
	counted = map[schema.Tenant]schema.Stored{}
	now := time.Now().Add(-time.Minute)
	for tenant, devices := range map[schema.Tenant]int{"contoso": 150, "fabrikam": 100, "initech": 50} {
		for i := range devices {
			d := newDevice(schema.DeviceID(fmt.Sprintf("%s:%03d", tenant, i)), tenant, 2026, 11)
			var rows []tables.Entity
			for n := range i % 4 { // some have none
				e := reading(d.ID, now.Add(-time.Duration(n)*time.Second), float64(n))
				if n == 2 { // no number: a heartbeat
					e.Properties = []tables.Property{{Name: "state", Value: tables.String("on")}}
				}
				rows = append(rows, e)
			}
			f.add(d, rows...)
			own := counted[tenant]
			for _, e := range rows {
				own.Rows, own.Bytes = own.Rows+1, own.Bytes+int64(e.Size())
			}
			if len(rows) > 0 {
				own.Devices++
			}
			counted[tenant] = own
		}
	}
	return f, counted
}

// costs returns what furrow cost prints, after the runs so far were counted.
func (f *fixture) costs(args ...string) cost.Costs {
	f.t.Helper()
	for _, after := range []time.Duration{2, 4} { // the second finds nothing new
		runs := worker.Runs{Table: f.client.Table(f.names.Runs())}
		must(f.t, runs.CountSpent(f.t.Context(), "live", time.Second, time.Now().Add(after*time.Hour)))
	}
	return jsonOf[cost.Costs](f.t, f.must("cost --json", args...))[0]
}

// TestTenantsCostWhatTheFleetHasCounted compares what tenants cost with what the requests of a worker were.
func TestTenantsCostWhatTheFleetHasCounted(t *testing.T) {
	t.Parallel()
	awayFromMidnight(0)
	f, counted := newCostlyFleet(t)
	f.refused(exitFailed, `no device belongs to tenant "contosoo"; did you mean "contoso"?`, "cost --tenant contosoo")
	f.asked()
	requests := 0
	for range 3 { // the first folds, the others report
		f.must("schedule --once")
		f.asked()
		f.work()
		requests += len(f.asked())
	}
	got := f.costs()
	if len(got.Tenants) != 3 || got.Fleet == nil {
		t.Fatalf("%+v", got)
	}
	sum := map[string]float64{}
	total := 0.0
	for _, l := range got.Tenants {
		want := counted[schema.Tenant(l.Tenant)]
		if (schema.Stored{Rows: l.Readings, Bytes: l.Bytes, Devices: l.Writing}) != want {
			t.Errorf("%s has stored %d readings with %d bytes of %d devices, want %+v", l.Tenant, l.Readings, l.Bytes,
				l.Writing, want)
		}
		for kind, n := range l.Operations {
			sum[kind] += n
		}
		total += l.USD.Total
	}
	for kind, n := range got.Fleet.Operations {
		if n == 0 || math.Abs(sum[kind]-n) > 1e-9*n {
			t.Errorf("%s: the tenants' shares sum up to %v, counted are %v", kind, sum[kind], n)
		}
	}
	if math.Abs(total-got.Fleet.USD.Total) > 1e-9*total || len(sum) != len(got.Fleet.Operations) {
		t.Errorf("tenants cost %v, the fleet %v", total, got.Fleet.USD.Total)
	}
	if a, b := got.Tenants[0], got.Tenants[2]; a.Tenant != "contoso" || a.Devices != 150 || b.Tenant != "initech" ||
		math.Abs(a.USD.Work-3*b.USD.Work) > 1e-9*a.USD.Work {
		t.Errorf("the first and the last are\n%+v\n%+v", a, b)
	}
	// Workers also read the configuration and write figures, which are no operations of jobs.
	ofTables := got.Fleet.Services()["tables"]
	t.Logf("%.0f operations of tables are counted, of %d requests", ofTables, requests)
	if ofTables > float64(requests) || ofTables < 0.9*float64(requests) {
		t.Errorf("%.0f operations of tables are counted, of %d requests", ofTables, requests)
	}
	one := f.costs("--tenant", "fabrikam", "--days")
	if len(one.Tenants) != 1 || one.Fleet != nil || one.Tenants[0].Day == "" || one.Tenants[0].Readings !=
		counted["fabrikam"].Rows {
		t.Errorf("of one tenant: %+v", one)
	}
	f.must("audit run --pipeline live")
	f.work()
	for i, l := range f.costs().Tenants {
		if was := got.Tenants[i]; l.Readings != was.Readings || l.Bytes != was.Bytes || l.Devices != was.Devices {
			t.Errorf("after an audit: %+v\nbefore: %+v", l, was)
		}
	}
	if text := f.must("cost"); !strings.Contains(text, "fabrikam") || !strings.Contains(text, "\nall ") {
		t.Error(text)
	}
}

// TestTenantWhoseDevicesNobodyCountedCosts its readings: its first device came after the scheduler had counted on that
// day.
func TestTenantWhoseDevicesNobodyCountedCosts(t *testing.T) {
	t.Parallel()
	awayFromMidnight(0)
	f := newReportingFixture(t)
	now := time.Now().Add(-time.Minute)
	for _, tenant := range []schema.Tenant{"contoso", "tailspin"} {
		d := newDevice(schema.DeviceID(tenant+":1"), tenant, 2026, 11)
		f.add(d, reading(d.ID, now, 1))
		for range 3 { // the first folds, the others report
			f.must("schedule --once")
			f.work()
		}
	}
	got := f.costs()
	if len(got.Tenants) != 2 || got.Fleet.Readings != 2 {
		t.Fatalf("of two tenants with a reading each: %+v, of the fleet %+v", got.Tenants, got.Fleet)
	}
	for _, l := range got.Tenants {
		if l.Readings != 1 || l.Writing != 1 || (l.Devices > 0) != (l.Tenant == "contoso") {
			t.Errorf("%+v", l)
		}
	}
	today := schema.DayOf(tables.TicksOf(now))
	strange := schema.Spending{Pipeline: "live", Day: today, From: today.Start(), Through: today.Start() + 1}.Entity()
	strange.Set("Through", tables.String("{from: the future}"))
	_, err := f.client.Table(f.names.Runs()).Do(t.Context(), tables.InsertOrReplace(strange))
	must(t, err)
	code, out, errs := f.run("cost --json")
	if got := jsonOf[cost.Costs](t, out); code != exitFailed || !strings.Contains(errs, "the answer is incomplete") ||
		got[0].Unreadable != 1 || got[0].Fleet.Readings != 2 {
		t.Errorf("without the runs of today: exit %d, %s%s", code, out, errs)
	}
}
