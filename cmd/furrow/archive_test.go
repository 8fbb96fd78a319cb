package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// archiveInParquet is a configuration with an archive of Parquet files.
const archiveInParquet = "pipelines:\n" +
	"- {name: live, cadence: 1s, processors: [archive: {format: parquet, every: 1h, columns: [site]," +
	" rollups: [1h, 1d]}]}\n" +
	"- {name: sums, processors: [latest, rollup]}\nreports: {by: [tenant]}\n"

// newArchivedFixture has two devices with readings of the last three days, and workers that have archived them.
func newArchivedFixture(t *testing.T) (f *fixture, yesterday schema.Day) {
	t.Helper()
	f = newFixture(t)
	file := filepath.Join(t.TempDir(), "furrow.yaml")
	writeFile(t, file, archiveInParquet)
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

// TestArchiveIsListedVerifiedAndRewritten by commands, after workers have made it.
func TestArchiveIsListedVerifiedAndRewritten(t *testing.T) {
	t.Parallel()
	f, yesterday := newArchivedFixture(t)
	lines, hours := f.archiveLines("archive list --tenant acme --json")
	if len(lines) < 2 || lines[len(lines)-1].Date != yesterday.String() || lines[len(lines)-1].Readings != 48 ||
		lines[len(lines)-1].Rollups != 2*25 || lines[len(lines)-1].Reports != 25 {
		t.Fatalf("the archive has %+v", lines)
	}
	if some, _ := f.archiveLines("archive list --json --from", yesterday.String()); len(some) != 1 {
		t.Errorf("from yesterday on, it has %+v", some)
	}
	for n, hour := range hours {
		if hour.Date != (yesterday+1).String() || hour.Hour != fmt.Sprintf("%02d", n) || hour.Readings != 2 {
			t.Errorf("it has the hour %+v", hour)
		}
	}
	over := int(time.Since((yesterday+1).Start().Time())/time.Hour) - 1
	if n := len(hours); n != over && n != over-1 { // the hour may just have ended
		t.Errorf("it has %d hours of %d", n, over)
	}
	if over > 2 {
		last := hours[len(hours)-1]
		at := (yesterday + 1).Start().Add(time.Duration(len(hours)) * time.Hour).Time().Format(time.RFC3339)
		if _, some := f.archiveLines("archive list --json --to", at); len(some) != len(hours) {
			t.Errorf("until %s, it has %+v", at, some)
		}
		if out := f.must("archive rewrite --from", last.Date); !strings.Contains(out, last.Date+" hour "+last.Hour+", ") {
			t.Errorf("a rewrite of the day tells\n%s", out)
		}
	}
	f.must("archive rewrite --from", (yesterday - 20).String())
	if again, _ := f.archiveLines("archive list --tenant acme --json"); len(again) != len(lines) {
		t.Errorf("a rewrite of three weeks makes days without readings: %+v", again)
	}
	f.must("archive verify --readings")
	late := reading(f.devices[0].ID, yesterday.Start().Time().Add(time.Nanosecond*100), 1)
	_, err := f.client.Table(f.names.Readings()).Do(t.Context(), tables.Insert(late))
	must(t, err)
	f.must("archive verify")
	if code, out, errs := f.run("archive verify --readings"); code != exitFailed || !strings.Contains(out, "is missing") ||
		!strings.Contains(errs, "1 problem; furrow archive rewrite") {
		t.Errorf("with a late reading: exit %d, %s%s", code, out, errs)
	}
	f.must("archive rewrite --from", yesterday.String())
	f.must("archive verify --readings")
	again, _ := f.archiveLines("archive list --json --from", yesterday.String())
	if again[0].Readings != 49 || again[0].Rollups != 50 {
		t.Errorf("after a rewrite it has %+v", again)
	}
	f.must("device remove", string(f.devices[1].ID), "--yes")
	again, _ = f.archiveLines("archive list --json --from", yesterday.String())
	if again[0].Readings != 49 {
		t.Errorf("without a device whose data is kept, it has %+v", again)
	}
	out := f.must("device remove --data", string(f.devices[1].ID), "--yes")
	if !strings.Contains(out, " of the archive were made again without it") {
		t.Errorf("device remove tells %s", out)
	}
	again, _ = f.archiveLines("archive list --json --from", yesterday.String())
	if again[0].Readings != 25 || again[0].Rollups != 25 {
		t.Errorf("without a device whose data is deleted, it has %+v", again)
	}
	f.must("archive verify --readings")
	f.refused(exitUsage, "--from is required", "archive rewrite --tenant acme")
	f.refused(exitFailed, "there is no such day", "archive rewrite --tenant nobody --from -2d")
}

// archiveLines returns the days and the hours that a command prints.
func (f *fixture) archiveLines(command string, more ...string) (days, hours []archiveLine) {
	f.t.Helper()
	for _, line := range jsonOf[archiveLine](f.t, f.must(command, more...)) {
		if line.Hour == "" {
			days = append(days, line)
		} else {
			hours = append(hours, line)
		}
	}
	return days, hours
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
