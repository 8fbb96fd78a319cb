package main

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/budget"
	"furrow/worker/limits"
)

// put writes a row of the table runs.
func (f *fixture) put(e tables.Entity, err error) {
	f.t.Helper()
	must(f.t, err)
	_, err = f.client.Table(f.names.Runs()).Do(f.t.Context(), tables.InsertOrReplace(e))
	must(f.t, err)
}

// largeRun writes the figures of a run that is done, of so many devices in one month, as workers do.
func (f *fixture) largeRun(slot time.Time, devices int64) {
	f.t.Helper()
	at, done := tables.TicksOf(slot), map[string]int64{"master done": 1, "month done": 1, "device done": 1}
	month := schema.MonthFigures{Pipeline: "live", Slot: at, Devices: devices, Batches: 1,
		Month: schema.Month{Year: 2026, Month: 9}}
	f.put(month.Entity())
	worker := schema.WorkerFigures{Pipeline: "live", Slot: at, Worker: "w1", Devices: devices, Folded: devices, Months: 1,
		Rows: devices, Jobs: done, Operations: map[string]int64{"tables query": devices * 2, "tables transaction": devices,
			"queues put": devices / 50, "queues delete": devices / 50}}
	f.put(worker.Entity())
}

// TestStatusWarnsAt70PercentOfALimit has a run of 20,000 devices in one partition, and one of 5,000.
func TestStatusWarnsAt70PercentOfALimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.createTables()
	for devices, partition := range map[int64]float64{20_000: 1, 5_000: 0.25} {
		f.largeRun(time.Now().Truncate(time.Minute), devices)
		s := jsonOf[pipelineStatus](t, f.must("status --json --pipeline live"))[0]
		var shares []float64
		for _, l := range s.Limits {
			shares = append(shares, l.Share)
			if l.Close != (l.Share >= 0.7) || l.Close != (l.ToDo != "") {
				t.Errorf("%d devices: %+v", devices, l)
			}
		}
		if len(shares) != 5 || shares[0] != partition || min(shares[3], shares[4]) <= 0 {
			t.Errorf("%d devices: %v, want %v of the partition first, and two of the disk last", devices, shares, partition)
		}
		if !slices.ContainsFunc(s.Limits, func(l limits.Limit) bool { return strings.Contains(l.What, "account") }) {
			t.Errorf("%d devices: %+v", devices, s.Limits)
		}
		out := strings.Join(strings.Fields(f.must("status")), " ")
		const warning = "warning: 100 % of a limit: entities a second in the largest partition of live; raise the cadence"
		if strings.Contains(out, warning) != (partition >= 0.7) {
			t.Errorf("%d devices: %s", devices, out)
		}
	}
}

// TestBudgetIsCountedOnceAndProjected has a scheduler count the runs of a day, again and again, and a rule for the
// share that is projected.
func TestBudgetIsCountedOnceAndProjected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file := filepath.Join(t.TempDir(), "site.yaml")
	writeFile(t, file, `
pipelines: [{name: live, cadence: 1m, settle: 1s, processors: [latest, rules]}]
rules:
  budget: {match: {tenant: furrow}, when: {threshold: {sensor: budget_share, above: 0.7}}}
budget: {usdPerMonth: 0.005}
`)
	f.must("config apply " + file)
	f.createTables()
	f.says("no run of this month is counted yet", "status")
	awayFromMidnight(0)
	now := time.Now().UTC().Truncate(time.Minute)
	runs := 0.0 // of this month: all, unless it has just begun
	for minutes := 61; minutes <= 61+26*60; minutes += 26 {
		slot := now.Add(-time.Duration(minutes) * time.Minute)
		f.largeRun(slot, 1000)
		if slot.Month() == now.Month() {
			runs++
		}
	}
	if runs == 0 {
		f.must("schedule --once --pipeline live")
		f.says("no run of this month is counted yet", "status")
		return
	}
	var first *budget.Budget
	for range 3 {
		f.must("schedule --once --pipeline live")
		b := jsonOf[pipelineStatus](t, f.must("status --json"))[0].Budget
		if first == nil {
			first = b
		}
		// each with 3,000 requests to tables, 40 to queues, and 1,000 inserts of devices
		spent := runs * (4000*0.00036 + 40*0.004) / 10_000
		if b.Spent != first.Spent || math.Abs(b.Spent-spent) > spent/1000 || b.From == nil ||
			(b.Share >= 1) != (b.Through.Sub(*b.From) >= 24*time.Hour) {
			t.Errorf("%+v, want %.5f", b, spent)
		}
	}
	if first.Share == 0 { // the month has just begun
		f.says("the month is projected", "status") // when a day is counted; the line may end here
		return
	}
	f.says("warning: budget: $0.01 from", "status")
	f.work()
	if latest := f.must("query furrow:live --latest --format csv"); !strings.Contains(latest, "budget_share") {
		t.Errorf("the rule cannot see the budget: %s", latest)
	}
}
