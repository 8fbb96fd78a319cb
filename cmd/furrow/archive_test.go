package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/archive/delta"
	"furrow/jobs/processors"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
)

// archiveOfHours is a configuration with an archive that has the hours of open days.
const archiveOfHours = "pipelines:\n" +
	"- {name: live, cadence: 1s, processors: [archive: {every: 1h, columns: [site]," +
	" rollups: [1h, 1d]}]}\n" +
	"- {name: sums, processors: [latest, rollup]}\nreports: {by: [tenant]}\n"

// newArchivedFixture has two devices with readings of the last three days, and workers that have archived them.
func newArchivedFixture(t *testing.T) (f *fixture, yesterday schema.Day) {
	t.Helper()
	f = newFixture(t)
	file := filepath.Join(t.TempDir(), "furrow.yaml")
	writeFile(t, file, archiveOfHours)
	f.must("config apply", file)
	f.createTables()
	awayFromMidnight(time.Hour)
	now := time.Now()
	for n := range 2 {
		d := newDevice(schema.DeviceID(fmt.Sprint("acme:", n)), "acme", 2026, time.November)
		var rows []tables.Entity
		for hours := range 72 {
			rows = append(rows, reading(d.ID, now.Add(-time.Hour*time.Duration(hours+1)), float64(hours)))
		}
		f.add(d, rows...)
	}
	for range 2 { // the second run finds the marks of the first
		f.must("schedule --once")
		f.work() // until the next slot: it is idle for a second before it ends
	}
	return f, schema.DayOf(tables.TicksOf(now.Add(-time.Hour))) - 1
}

// TestNewLogOfNothingIsSaid: a tenant whose name is misspelled, or that has no tables, gets none.
func TestNewLogOfNothingIsSaid(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must("enrollment add plant1 --tenant acme")
	f.must("device add pump-1")
	f.refused(exitFailed, `no device belongs to tenant "amce"; did you mean "acme"?`,
		"archive rewrite --log --tenant amce")
	if out, errs := f.both("archive rewrite --log --tenant acme"); out != "" ||
		!strings.Contains(errs, "the archive has no table of tenant acme") {
		t.Errorf("a tenant without tables: %s, %s", out, errs)
	}
}

// TestWholeTablesAreComparedWithoutDays: nobody may take the problems of all days for those of the days that he named.
func TestWholeTablesAreComparedWithoutDays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, flag := range []string{"--from -2d", "--to -2d", "--files --from -2d"} {
		f.refused(exitUsage, "--from and --to select days for --readings", "archive verify "+flag)
	}
}

// TestDaysAreRewrittenBeforeAnyWorkerHasRun: the fleet has nothing of an archive yet.
func TestDaysAreRewrittenBeforeAnyWorkerHasRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file := filepath.Join(t.TempDir(), "furrow.yaml")
	writeFile(t, file, archiveOfHours)
	f.must("config apply", file)
	for _, name := range processors.Tables(f.names) { // none of a pipeline
		must(t, f.client.Table(name).Create(t.Context()))
	}
	d := newDevice("acme:1", "acme", 2026, time.November)
	f.add(d, reading(d.ID, time.Now().Add(-72*time.Hour), 1))
	f.must("archive rewrite --from -5d")
	f.must("archive verify --files --readings")
	if lines := f.archiveLines("archive list --tenant acme --json"); len(lines) != 1 || lines[0].Readings != 1 {
		t.Errorf("the archive has %+v", lines)
	}
}

// TestArchiveIsListedVerifiedAndRewritten by commands, after workers have made it.
func TestArchiveIsListedVerifiedAndRewritten(t *testing.T) {
	t.Parallel()
	f, yesterday := newArchivedFixture(t)
	f.must("archive rewrite --from", (yesterday - 20).String()) // workers wait until no more rows of older days come
	lines := f.archiveLines("archive list --tenant acme --json")
	over := int(time.Since((yesterday+1).Start().Time())/time.Hour) - 1
	if over > 0 {
		open := lines[len(lines)-1]
		lines = lines[:len(lines)-1]
		if !open.Open || open.Date != (yesterday+1).String() || open.Readings != 2*int64(open.Files) ||
			open.Files != over && open.Files != over+1 { // the hour may just have ended
			t.Errorf("of the %d hours of today, it has %+v", over, open)
		}
	}
	last := lines[len(lines)-1]
	if len(lines) < 2 || last.Date != yesterday.String() || last.Readings != 48 || last.Rollups != 2*25 ||
		last.Reports != 25 || last.Open || last.Files != 5 {
		t.Fatalf("the archive has %+v", lines)
	}
	if some := f.archiveLines("archive list --json --from", yesterday.String(), "--to", (yesterday + 1).String()); len(
		some) != 1 || some[0] != last {
		t.Errorf("yesterday, it has %+v", some)
	}
	files := jsonOf[model.ArchiveFile](t, f.must("archive files --tenant acme --json --from", yesterday.String(), "--to",
		(yesterday+1).String()))
	if len(files) != 1 || files[0].Rows != 48 || !strings.HasPrefix(files[0].Path, "acme/readings/date="+last.Date+"/") {
		t.Errorf("the files of yesterday are %+v", files)
	}
	f.archivePageShows(lines)
	f.archiveNotesWhatWaits()
	f.must("archive verify --readings --files")
	f.downloads()
	copied := jsonOf[archiveCopyLine](t, f.must("archive copy --tenant acme --container acme-tables --token 1d --json"))
	if len(copied) != 1 || copied[0].Written < 20 || !strings.Contains(copied[0].URL, "/acme-tables?") ||
		!strings.Contains(copied[0].URL, "sp=rl") {
		t.Errorf("the copy tells %+v", copied)
	}
	if again := jsonOf[archiveCopyLine](t, f.must("archive copy --tenant acme --container acme-tables --json")); again[0].
		Written != 0 || again[0].Deleted != 0 {
		t.Errorf("a second copy tells %+v", again)
	}
	f.refused(exitFailed, `no device belongs to tenant "nobody"`, "archive copy --tenant nobody --container mistyped")
	late := reading(f.devices[0].ID, yesterday.Start().Time().Add(time.Nanosecond*100), 1)
	_, err := f.client.Table(f.names.Readings()).Do(t.Context(), tables.Insert(late))
	must(t, err)
	f.must("archive verify")
	if code, out, errs := f.run("archive verify --readings"); code != exitFailed || !strings.Contains(out, "is missing") ||
		!strings.Contains(errs, "1 problem; furrow archive rewrite") {
		t.Errorf("with a late reading: exit %d, %s%s", code, out, errs)
	}
	f.must("archive rewrite --from", yesterday.String())
	f.must("archive verify --readings --files")
	of := func() archiveLine {
		t.Helper()
		return f.archiveLines("archive list --json --from", yesterday.String(), "--to", (yesterday + 1).String())[0]
	}
	if again := of(); again.Readings != 49 || again.Rollups != 50 {
		t.Errorf("after a rewrite it has %+v", again)
	}
	f.must("device remove", string(f.devices[1].ID), "--yes")
	if again := of(); again.Readings != 49 {
		t.Errorf("without a device whose data is kept, it has %+v", again)
	}
	out := f.must("device remove --data", string(f.devices[1].ID), "--yes")
	if !strings.Contains(out, " of the archive were made again without it") ||
		!strings.Contains(out, "the copy in container acme-tables has it until furrow archive copy runs again") {
		t.Errorf("device remove tells %s", out)
	}
	if again := of(); again.Readings != 25 || again.Rollups != 25 {
		t.Errorf("without a device whose data is deleted, it has %+v", again)
	}
	f.must("archive verify --readings --files")
	f.refused(exitFailed, `no table "rollup-1h"; did you mean "rollups-1h"?`, "archive files --tenant acme --table rollup-1h")
	f.refused(exitFailed, `no table "nosuch"; it has readings, rep`, "archive list --versions --tenant acme --table nosuch")
	f.freshLog()
	f.lostTables()
	f.refused(exitUsage, "--from is required", "archive rewrite --tenant acme")
	f.refused(exitUsage, "--tenant is required with --log", "archive rewrite --log")
	f.refused(exitUsage, "--tenant is required with --versions", "archive list --versions")
	f.refused(exitUsage, "--tenant is required", "archive files")
	f.refused(exitUsage, "--table needs --versions", "archive list --tenant acme --table rollups-1h")
	f.refused(exitUsage, "--versions excludes --from", "archive list --versions --tenant acme --from -2d")
	f.refused(exitUsage, "--log excludes --from", "archive rewrite --log --tenant acme --from -2d")
	f.refused(exitFailed, "there is no such day", "archive rewrite --tenant nobody --from -2d")
}

// lostTables has a catalog vanish, with all that it says.
func (f *fixture) lostTables() {
	f.t.Helper()
	lost := f.client.Table(f.names.Catalog())
	for e, err := range lost.Entities(f.t.Context(), tables.Query{}) {
		must(f.t, err)
		_, err = lost.Do(f.t.Context(), tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag))
		must(f.t, err)
	}
	if code, out, _ := f.run("archive verify"); code != exitFailed || !strings.Contains(out, "it has 0 readings of") {
		f.t.Errorf("verify does not miss the tables: exit %d, %s", code, out)
	}
}

// freshLog has another program write into the log of a table, and a new log published.
func (f *fixture) freshLog() {
	f.t.Helper()
	versions := func() []answers.ArchiveVersion {
		f.t.Helper()
		return jsonOf[answers.ArchiveVersion](f.t, f.must("archive list --tenant acme --versions --json"))
	}
	before := versions()
	last := before[len(before)-1]
	why := "day made again" // with reports
	if lines := f.archiveLines("archive list --tenant acme --json"); lines[len(lines)-1].Open {
		why = "erased" // from the file of an hour
	}
	if last.Why != why || !last.Published || last.Table != "readings" || last.RowsGone <= last.RowsAdded {
		f.t.Errorf("the last version is %+v", last)
	}
	account, err := tables.ParseAccount(text(f.t, filepath.Join(f.storage, "connection")))
	must(f.t, err)
	store, err := archive.Connect(archive.StoreConfig{Account: account, Container: f.names.Archive()})
	must(f.t, err)
	must(f.t, store.Put(f.t.Context(), "acme/readings/"+delta.VersionFile(last.Version+1), []byte("{}"), ""))
	if code, _, errs := f.run("archive rewrite --tenant acme --from -2d"); code != exitFailed || !strings.Contains(errs,
		"another program writes into this table's log") {
		f.t.Errorf("with a foreign log: exit %d, %s", code, errs)
	}
	if code, out, _ := f.run("archive verify"); code != exitFailed || !strings.Contains(out, "another program writes") {
		f.t.Errorf("verify does not tell of a foreign log: exit %d, %s", code, out)
	}
	f.must("archive rewrite --tenant acme --log")
	f.must("archive rewrite --tenant acme --from -2d")
	f.must("archive verify --readings --files")
	if after := versions(); after[len(after)-1].Version <= last.Version+1 || !after[len(after)-1].Published {
		f.t.Errorf("after a new log, the last version is %+v", after[len(after)-1])
	}
}

// archivePageShows the days that the command lists.
func (f *fixture) archivePageShows(lines []archiveLine) {
	f.t.Helper()
	d := startDashboard(f.t, "--storage", f.storage)
	defer d.mustEnd(f.t)
	var found model.Archive
	must(f.t, json.Unmarshal([]byte(get(f.t, http.DefaultClient, d.said.Dashboard+"v1/archive?tenant=acme", "")), &found))
	closed := slices.DeleteFunc(found.Days, func(d model.ArchiveDay) bool { return d.Open })
	if !found.Archives || len(found.Tables) != 5 || len(found.Waiting) != 1 || len(closed) != len(lines) {
		f.t.Fatalf("the page shows %+v", found)
	}
	for i, line := range slices.Backward(lines) {
		if d := closed[len(lines)-1-i]; d.Date != line.Date || d.Readings != line.Readings || d.Rollups != line.Rollups ||
			d.Reports != line.Reports || d.Files != line.Files || d.Bytes != line.Bytes || !d.Watermark.Equal(line.Watermark) {
			f.t.Errorf("the page shows %+v, the command %+v", d, line)
		}
	}
}

// archiveNotesWhatWaits, as the newest run has counted it.
func (f *fixture) archiveNotesWhatWaits() {
	f.t.Helper()
	slot := tables.TicksOf(time.Now())
	f.put(schema.Run{Pipeline: "live", Slot: slot, By: "tester", Enqueued: slot}.Entity())
	f.put(schema.MonthFigures{Pipeline: "live", Slot: slot, Month: f.devices[0].Month, Devices: 2, Batches: 1,
		Waiting: 3, WaitingLag: 2 * time.Hour}.Entity())
	if _, note := f.both("archive list"); !strings.Contains(note, "3 days of the archive or of reports to be made, the "+
		"first for 2h") {
		f.t.Errorf("archive list notes %q", note)
	}
}

// archiveLines returns the days that a command prints.
func (f *fixture) archiveLines(command string, more ...string) []archiveLine {
	f.t.Helper()
	return jsonOf[archiveLine](f.t, f.must(command, more...))
}

// TestDaysOfAllTenantsAreRewrittenInOrder: a rewrite that is stopped says to continue with the day that it was at, and
// then no tenant may lack a day before that.
func TestDaysOfAllTenantsAreRewrittenInOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file := filepath.Join(t.TempDir(), "furrow.yaml")
	writeFile(t, file, archiveOfHours)
	f.must("config apply", file)
	f.createTables()
	for _, tenant := range []schema.Tenant{"acme", "contoso"} {
		d := newDevice(schema.DeviceID(tenant+":1"), tenant, 2026, time.November)
		var rows []tables.Entity
		for days := range 3 {
			rows = append(rows, reading(d.ID, time.Now().AddDate(0, 0, -days-2), float64(days)))
		}
		f.add(d, rows...)
	}
	f.must("schedule --once")
	f.work() // it creates the container
	lines := jsonOf[rewrittenLine](t, f.must("archive rewrite --from -6d --to -1d --json"))
	if len(lines) != 6 || !slices.IsSortedFunc(lines, func(a, b rewrittenLine) int {
		return strings.Compare(a.Date, b.Date)
	}) {
		t.Errorf("it makes %+v", lines)
	}
}

// TestDaysOfDevicesThatHaveAllLeftAreRewritten: of a partition without a device, the archive alone has days.
func TestDaysOfDevicesThatHaveAllLeftAreRewritten(t *testing.T) {
	t.Parallel()
	f, yesterday := newArchivedFixture(t)
	f.must("archive rewrite --from", (yesterday - 20).String())
	before := f.archiveLines("archive list --tenant acme --json")
	for _, d := range f.devices {
		f.must("device remove", string(d.ID), "--yes")
	}
	lines := jsonOf[rewrittenLine](t, f.must("archive rewrite --json --from", yesterday.String(), "--to",
		(yesterday+1).String()))
	if len(lines) != 1 || lines[0].Tenant != "acme" || lines[0].Date != yesterday.String() {
		t.Errorf("it makes %+v", lines)
	}
	f.must("archive verify --readings --files")
	after := f.archiveLines("archive list --tenant acme --json")
	for i := range after {
		if after[i].Readings != before[i].Readings {
			t.Errorf("of %+v it has %+v", before[i], after[i])
		}
	}
}

// TestCopyHasTheArchive without sending objects twice, and its files are those of the source.
func TestCopyHasTheArchive(t *testing.T) {
	t.Parallel()
	f, _ := newArchivedFixture(t)
	there := newFixture(t)
	copied := func(args ...string) copiedLine {
		t.Helper()
		code, out, errs := furrow(t.Context(), append([]string{"copy", f.storage, there.storage, "--json"}, args...)...)
		if code != exitOK {
			t.Fatal(errs)
		}
		for _, line := range jsonOf[copiedLine](t, out) {
			if line.Table == f.names.Archive() {
				return line
			}
		}
		return copiedLine{}
	}
	if first := copied(); first.Rows < 10 || first.Written != first.Rows {
		t.Errorf("first %+v", first)
	}
	f.must("archive rewrite --from -2d")
	if again := copied(); again.Written == 0 || again.Written == again.Rows {
		t.Errorf("after files were made again: %+v", again)
	}
	if last := copied("--finish"); last.Written != 0 || last.Deleted != 0 {
		t.Errorf("without a change: %+v", last)
	}
	if here, list := f.must("archive list --json"), there.must("archive list --json"); list != here {
		t.Errorf("the copy has %s, the source %s", list, here)
	}
	there.must("archive verify --readings")
}
