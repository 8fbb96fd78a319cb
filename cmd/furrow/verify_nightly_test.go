package main

import (
	"path/filepath"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
)

// TestUnexplainedDifferencesOpenAnIncident: what a nightly sample has found opens an incident of the tenant furrow,
// without a rule in the file.
func TestUnexplainedDifferencesOpenAnIncident(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file := filepath.Join(t.TempDir(), "site.yaml")
	writeFile(t, file, `
pipelines: [{name: live, cadence: 1s, settle: 1s, processors: [latest, rules]}]
verify: {sample: 1%, every: 1d}
`)
	f.must("config apply " + file)
	f.createTables()
	now := tables.TicksOf(time.Now())
	f.put(schema.Verification{Number: 3, Through: schema.DayOf(now), At: now, Unexplained: 7,
		Differ: []schema.Differing{{Tenant: "acme", Device: "pump-7", Day: "2026-11-20", Output: "rollups 1h"}}}.Entity())
	var open []answers.Incident
	await(t, "the incident", func() bool { // a run folds the figures of a slot that is a second old
		f.must("schedule --once --pipeline live")
		f.work()
		open = jsonOf[answers.Incident](t, f.must("incident list --json"))
		return len(open) > 0
	})
	if len(open) != 1 || open[0].Rule != "verify" || open[0].Tenant != "furrow" || open[0].Severity != "critical" {
		t.Fatalf("open are %+v", open)
	}
	f.says("7 differences between readings and outputs", "incident list --json")
}
