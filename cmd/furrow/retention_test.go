package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model"
)

const keepsTenDays = `
pipelines:
  - {name: live, processors: [latest, rollup]}
retention:
  - {match: {device: "kept*"}, readings: forever}
  - {where: action == nil, readings: 10d, rejects: 10d, activity: 10d}
`

// ran has a pipeline have had a run in each of the hours before, as it has where no clock has jumped.
func (f *fixture) ran(p schema.Pipeline) {
	f.t.Helper()
	var runs []tables.Entity
	for ago := 1; ago < 8; ago++ {
		slot := tables.TicksOf(time.Now().Add(-time.Duration(ago) * time.Hour))
		e, err := schema.Run{Pipeline: p, Slot: slot, Enqueued: slot, Started: slot}.Entity()
		must(f.t, err)
		runs = append(runs, e)
	}
	jobstest.Insert(f.t, f.client.Table("runs"), runs...)
}

// TestRetentionIsExplainedCountedAndDone by commands and workers: of two devices with rows of 30 days, one loses those
// of its old rows for which the condition holds.
func TestRetentionIsExplainedCountedAndDone(t *testing.T) {
	f := newFixture(t)
	inEmptyDirectory(t)
	f.must("enrollment add plant1 --tenant acme")
	f.refused(1, "retention: [{readings: 30d}]", "retention run")
	writeFile(t, "keep.yaml", keepsTenDays)
	f.must("config apply keep.yaml")
	f.must("device add bottle-1")
	f.must("device add kept-1")
	table, now := f.client.Table("readings"), time.Now()
	for _, device := range []string{"bottle-1", "kept-1"} {
		var rows []tables.Entity
		for day := range 30 {
			for n, name := range []string{"heartbeat", "action"} {
				at := now.Add(-time.Duration(day) * 24 * time.Hour).Add(-time.Duration(n+2) * time.Minute)
				e := tables.Entity{PartitionKey: device, RowKey: tables.TicksOf(at).String()}
				e.Set(name, tables.Int64(int64(day)))
				rows = append(rows, e)
			}
		}
		jobstest.Insert(t, table, rows...)
	}
	f.must("schedule --once")
	f.work()
	f.ran("live")
	f.must("audit run")
	f.work()
	dry := jsonOf[retentionLine](t, f.must("retention run --dry-run --json"))[0]
	if dry.Tenant != "acme" || dry.Table != "readings" || dry.Devices != 1 || dry.Rows < 18 || dry.Rows > 20 ||
		dry.Waiting != 0 {
		t.Errorf("dry run: %+v", dry)
	}
	if line := jsonOf[retainedLine](t, f.must("retention explain bottle-1 --json"))[0]; line.Rows != dry.Rows ||
		line.Table != "readings" || line.Kept != "10d" || line.Where != "action == nil" || line.Why != "" {
		t.Errorf("explained: %+v", line)
	}
	if out := f.must("retention explain kept-1"); !strings.Contains(out, "kept for ever") {
		t.Errorf("explained: %s", out)
	}
	act := schema.Act{ID: "a", At: tables.TicksOf(now.Add(-12 * 24 * time.Hour)), Who: "ann", What: "x", Tenant: "acme"}
	row, err := act.Entity()
	must(t, err)
	jobstest.Insert(t, f.client.Table(f.names.Activity()), row)
	reject := schema.Reject{Device: "bottle-1", Pipeline: "live", At: tables.TicksOf(now.Add(-12 * 24 * time.Hour))}
	row, err = reject.Entity()
	must(t, err)
	jobstest.Insert(t, f.client.Table(f.names.Rejects()), row)
	f.says("acme: 1 row of activity would go", "retention run --dry-run")
	f.says("acme: 1 row of rejects would go", "retention run --dry-run")
	f.says("rejects: kept for 10d, next: 1 row before", "retention explain bottle-1")
	f.says("activity: kept for 10d, next: 1 row before", "retention explain bottle-1")
	f.says("reports: kept for ever", "retention explain bottle-1")
	f.must("retention run")
	f.must("worker --idle-exit 1s")
	if out := f.must("retention run --dry-run"); strings.Contains(out, "activity") ||
		strings.Contains(out, "rejects") {
		t.Errorf("afterwards: %s", out)
	}
	if got := len(jobstest.Rows(t, table, tables.Query{})); got != 120-dry.Rows {
		t.Errorf("%d rows are left, want %d", got, 120-dry.Rows)
	}
	if out := f.must("retention explain bottle-1"); !strings.Contains(out, "next: 0 readings") ||
		!strings.Contains(out, "gone: before") {
		t.Errorf("explained: %s", out)
	}
	writeFile(t, "past.csv", "device,time,temp\nbottle-1,"+now.Add(-25*24*time.Hour).Format(time.RFC3339)+",21\n")
	if code, _, errs := f.run("import past.csv"); code != exitFailed ||
		!strings.Contains(errs, "retention may have deleted its rows before") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// TestBottlesKeepHeartbeatsForTwoWeeksAndActionsForEver with the ready configuration: of thirty days, the heartbeats of
// the last fourteen stay, and everything that tells what a bottle has or was used for.
func TestBottlesKeepHeartbeatsForTwoWeeksAndActionsForEver(t *testing.T) {
	f := newFixture(t)
	inEmptyDirectory(t)
	if code, _, errs := furrow(t.Context(), "config", "init", "--example", "bottles", "bottles.yaml"); code != exitOK {
		t.Fatal(errs)
	}
	f.must("config apply bottles.yaml")
	f.must("enrollment add plant1 --tenant starcare")
	f.must("device add bottle-1")
	table, now := f.client.Table("readings"), time.Now()
	cut := schema.DayOf(tables.TicksOf(now.Add(-14 * 24 * time.Hour))).Start().String()
	var rows []tables.Entity
	var want []string
	for day := 29; day >= 0; day-- {
		for n, kind := range []string{"heartbeat", "action", "mass"} {
			at := now.Add(-time.Duration(day)*24*time.Hour - time.Duration(5-n)*time.Minute)
			e := tables.Entity{PartitionKey: "bottle-1", RowKey: tables.TicksOf(at).String()}
			e.Set("user_id", tables.String("willcross1024"))
			switch kind {
			case "action":
				e.Set("action", tables.String("opened"))
			case "mass":
				e.Set("mass_of_contents", tables.Double(45.9))
			}
			if rows = append(rows, e); kind != "heartbeat" || e.RowKey >= cut {
				want = append(want, e.RowKey)
			}
		}
	}
	jobstest.Insert(t, table, rows...)
	f.must("schedule --once")
	f.must("worker --idle-exit 1s")
	f.ran("live")
	f.ran("archive")
	f.must("archive rewrite --from -30d") // workers wait until no more rows of past days come
	f.must("audit run")
	f.must("worker --idle-exit 1s")
	if line := jsonOf[retainedLine](t, f.must("retention explain bottle-1 --json"))[0]; line.Kept != "14d" ||
		line.Rows != len(rows)-len(want) || line.Why != "" {
		t.Errorf("explained: %+v", line)
	}
	f.must("retention run")
	f.must("worker --idle-exit 1s")
	var left []string
	for _, e := range jobstest.Rows(t, table, tables.Query{}) {
		left = append(left, e.RowKey)
	}
	if !slices.Equal(left, want) || len(want) > len(rows)-14 {
		t.Errorf("%d of %d rows are left, want %d", len(left), len(rows), len(want))
	}
}

// TestDashboardShowsWhatRetentionHasNoted: the pipelines that fold know what is kept, too, and note nothing about it.
func TestDashboardShowsWhatRetentionHasNoted(t *testing.T) {
	f := newFixture(t)
	inEmptyDirectory(t)
	writeFile(t, "keep.yaml", keepsTenDays)
	f.must("config apply keep.yaml")
	f.must("enrollment add plant1 --tenant acme")
	f.must("device add bottle-1")
	old := tables.TicksOf(time.Now().Add(-25 * 24 * time.Hour))
	jobstest.Insert(t, f.client.Table("readings"), tables.Entity{PartitionKey: "bottle-1", RowKey: old.String()})
	f.must("schedule --once") // its own run waits: no pipeline has had runs in six hours
	f.must("retention run")
	f.must("worker --idle-exit 1s --pipeline retention")
	d := startDashboard(t, "--storage", f.storage)
	var found model.Retention
	must(t, json.Unmarshal([]byte(get(t, http.DefaultClient, d.said.Dashboard+"v1/retention?tenant=acme", "")), &found))
	if len(found.Waiting) != 1 || found.Waiting[0].Cause != "behind" || found.Waiting[0].Device != "bottle-1" ||
		found.Devices != 1 || len(found.Kept) != 2 || found.Kept[1].Tables[0].Kept != "10d" {
		t.Errorf("%+v", found)
	}
	d.mustEnd(t)
}

// TestWatermarksOfTheFutureAreLowered by a command, and status says that there are any.
func TestWatermarksOfTheFutureAreLowered(t *testing.T) {
	f := newFixture(t)
	inEmptyDirectory(t)
	said := func(text string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("it does not say %q:\n%s", w, text)
			}
		}
	}
	f.must("enrollment add plant1 --tenant acme")
	writeFile(t, "keep.yaml", keepsTenDays)
	f.must("config apply keep.yaml")
	f.must("device add bottle-1")
	f.must("device add kept-1")
	said(f.must("retention lower-watermarks"), "no watermark lies in the future")
	future := time.Now().AddDate(1, 0, 0)
	fleet := f.client.Table("fleet")
	for _, e := range jobstest.Rows(t, fleet, tables.Query{}) {
		if strings.HasSuffix(e.RowKey, "bottle-1") {
			e := tables.Entity{PartitionKey: e.PartitionKey, RowKey: e.RowKey}
			e.Set(schema.MemberWatermark, tables.Int64(int64(tables.TicksOf(future))))
			if _, err := fleet.Do(t.Context(), tables.Merge(e, tables.AnyETag)); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.must("schedule --once")
	f.work()
	said(f.must("status --pipeline live"), "1 device with a watermark in the future")
	if s := jsonOf[pipelineStatus](t, f.must("status --pipeline live --json"))[0]; s.Ahead != 1 {
		t.Errorf("%d devices have a watermark in the future", s.Ahead)
	}
	said(f.must("retention lower-watermarks --dry-run"), "bottle-1 of acme", "in the future")
	lowered := jsonOf[loweredLine](t, f.must("retention lower-watermarks --json"))
	if len(lowered) != 1 || lowered[0].To == nil || lowered[0].To.After(time.Now()) {
		t.Errorf("lowered: %+v", lowered)
	}
	said(f.must("retention lower-watermarks"), "no watermark lies in the future")
}

// TestDryRunHasOneLineATenant, although its devices come month by month.
func TestDryRunHasOneLineATenant(t *testing.T) {
	f := newFixture(t)
	inEmptyDirectory(t)
	writeFile(t, "keep.yaml", keepsTenDays)
	f.must("config apply keep.yaml")
	f.createTables()
	for n, tenant := range []schema.Tenant{"acme", "globex", "acme", "globex"} {
		d := newDevice(schema.DeviceID(fmt.Sprint("bottle-", n)), tenant, 2026, time.Month(1+n/2))
		f.add(d, reading(d.ID, time.Now().Add(-time.Hour), 1))
	}
	f.must("schedule --once")
	lines := jsonOf[retentionLine](t, f.must("retention run --dry-run --json"))
	if len(lines) != 2 || lines[0].Tenant != "acme" || lines[1].Tenant != "globex" {
		t.Errorf("%+v", lines)
	}
}
