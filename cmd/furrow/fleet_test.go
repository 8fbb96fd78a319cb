package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
)

func (f *fixture) hours() string {
	f.t.Helper()
	return f.must("query --tenant acme --window 1h --last 2d")
}

// merge changes properties of a row that exists.
func (f *fixture) merge(table string, e tables.Entity) {
	f.t.Helper()
	_, err := f.client.Table(table).Do(f.t.Context(), tables.Merge(e, tables.AnyETag))
	must(f.t, err)
}

// says runs a command that must succeed and print want.
func (f *fixture) says(want, line string, args ...string) {
	f.t.Helper()
	if out := f.must(line, args...); !strings.Contains(out, want) {
		f.t.Errorf("furrow %s %q prints\n%s\nwant %q", line, args, out, want)
	}
}

func TestRewindReplacesOutputs(t *testing.T) {
	t.Parallel()
	f := newFoldedFixture(t)
	want := f.hours()
	if !strings.Contains(want, "acme:d0000,") {
		t.Fatalf("the rollups are\n%s", want)
	}
	for page, err := range f.client.Table(f.names.Output("rollups")).Rows(t.Context(), tables.Query{}) {
		must(t, err)
		for _, e := range page.Rows {
			e.Set("temperature", tables.String("[7,7,7,7,7,7]"))
			f.merge(f.names.Output("rollups"), e)
		}
	}
	const line = "rewind --tenant acme --to -2d --pipeline live"
	f.says("would fold 3 devices", line+" --dry-run")
	f.work()
	if f.hours() == want {
		t.Fatal("nothing was changed, or a dry run has repaired it")
	}
	f.says("live folds 3 devices again", line)
	f.work()
	if got := f.hours(); got != want {
		t.Errorf("after the rewind:\n%s\nwant\n%s", got, want)
	}
	row, err := f.client.Table(f.names.Partitions("live")).Get(t.Context(), "2026-09", "acme!acme:d0000")
	if err != nil || !strings.Contains(row.Get("Rewound").Text(), ", by ") {
		t.Errorf("the record of it is %q, %v", row.Get("Rewound").Text(), err)
	}
}

func TestHeldDevicesAreListedAndReleased(t *testing.T) {
	t.Parallel()
	f := newFoldedFixture(t)
	if _, errs := f.both("device held"); !strings.Contains(errs, "no device is held") {
		t.Errorf("without held devices it prints %q", errs)
	}
	e := tables.Entity{PartitionKey: "2026-10", RowKey: "acme!acme:d0001"}
	e.Set("Attempts", tables.Int64(3))
	e.Set("Held", tables.String("a row is cursed"))
	e.Set("HeldUntil", tables.DateTime(tables.TicksOf(time.Now().Add(time.Hour))))
	f.merge(f.names.Partitions("live"), e)
	out := f.must("device held")
	if !strings.Contains(out, "acme:d0001") || !strings.Contains(out, "a row is cursed") || strings.Count(out, "\n") != 2 {
		t.Errorf("it lists\n%s", out)
	}
	f.says(`"reason":"a row is cursed"`, "device held --json --prefix acme:")
	f.refused(exitFailed, "is not held", "device release acme:d0002")
	f.refused(exitUsage, "name one of", "device release")
	f.says("acme:d0001 is released", "device release acme:d0001")
	if out = f.must("device held --json"); out != "" {
		t.Errorf("then it lists\n%s", out)
	}
	f.merge(f.names.Partitions("live"), e)
	_, err := f.client.Table(f.names.Fleet()).Do(t.Context(), tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag))
	must(t, err)
	if out = f.must("device held --json"); out != "" {
		t.Errorf("after it was removed it lists\n%s", out)
	}
}

func TestPoisonMessagesAreListedRedrivenAndPurged(t *testing.T) {
	t.Parallel()
	f := newFoldedFixture(t)
	s, err := opened(t, nil, "--storage", f.storage)
	must(t, err)
	m := jobs.Message{Kind: jobs.Month, Pipeline: "other", Run: tables.TicksOf(time.Now()), Month: schema.Month{Year: 2026,
		Month: 9}}
	must(t, s.Queues.Queue(f.names, "live").Put(t.Context(), m, 0))
	f.work()
	f.says("jobs-live,0,0,1,", "jobs list --pipeline live")
	f.says("belongs to pipeline other, not live", "jobs list --pipeline live")
	f.says("put back 0 messages", "jobs redrive --pipeline live --cause", "nothing like it")
	f.says("put back 1 message", "jobs redrive --pipeline live --cause", "belongs to pipeline other")
	f.work()
	f.refused(exitUsage, "--yes", "jobs purge")
	f.says("deleted about 1 message", "jobs purge --yes --pipeline live")
	f.says(`"poison":0`, "jobs list --pipeline live --json")
}

func TestFleetCommandsRefuseInvalidArguments(t *testing.T) {
	f := newFixture(t)
	for line, want := range map[string]string{
		"worker --jobs 0":                "--jobs is 0",
		"worker --lease 1s":              "--lease: it must be at least 3s",
		"worker --idle-exit 1ms":         "--idle-exit: it must be at least 1s",
		"worker --pipeline none":         `no such pipeline: "none"`,
		"schedule --every 1ms --once":    "--every: it must be at least 1s",
		"rewind --to -1h":                "name a DEVICE",
		"rewind a/b --to -1h":            "device id",
		"rewind pump-7 --to yesterday":   `"yesterday" is not a time`,
		"rewind pump-7":                  "name the time to go back to with --to",
		"device release pump-7 --all":    "name one of",
		"worker --config /nowhere.yaml":  "/nowhere.yaml",
		"worker --storage /no/directory": "start it with furrow up",
	} {
		f.refused(anyFailure, want, line)
	}
}

func TestNewPipelineFoldsFromTheBeginning(t *testing.T) {
	t.Parallel()
	f := newFoldedFixture(t)
	file := filepath.Join(t.TempDir(), "furrow.yaml")
	writeFile(t, file, "pipelines: [{name: live, processors: [latest, rollup]}, "+
		"{name: minutes, processors: [rollup: {windows: [1m]}]}]\n")
	f.must("schedule --once --pipeline minutes --config", file)
	f.must("worker --idle-exit 1s --pipeline minutes --config", file)
	for _, window := range []string{"15m", "1m"} {
		if got := f.counted("acme", window); got != 270 {
			t.Errorf("the rollups of %s count %d rows, want 270", window, got)
		}
	}
}
