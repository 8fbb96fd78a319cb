package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
)

// A fleetFixture is a storage directory that is served, with a few devices in it whose
// rows a worker has folded.
type fleetFixture struct {
	dir     string
	tables  *tables.Client
	queue   *worker.Queue
	devices int
}

func newFleetFixture(t *testing.T) *fleetFixture {
	t.Helper()
	y := &fleetFixture{dir: t.TempDir(), devices: 3}
	s := startStorage(t, nil, "--data", y.dir, "--show-key")
	account, err := tables.ParseAccount(s.ConnectionString)
	if err != nil {
		t.Fatal(err)
	}
	if y.tables, err = tables.Connect(tables.Config{Account: account}); err != nil {
		t.Fatal(err)
	}
	queues, err := worker.Connect(worker.Config{Account: account})
	if err != nil {
		t.Fatal(err)
	}
	y.queue = queues.Queue(schema.Names{}, "live")
	seedFleet(t, y.tables, y.devices, 90)
	y.furrow(t, "schedule", "--once")
	y.work(t)
	return y
}

// furrow runs a command on the site, which must succeed.
func (y *fleetFixture) furrow(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := furrow(t.Context(), append(args, "--storage", y.dir)...)
	if code != exitOK {
		t.Fatalf("%v: exit %d, %s%s", args, code, stdout, stderr)
	}
	return stdout, stderr
}

// work has a worker do what there is to do now.
func (y *fleetFixture) work(t *testing.T) {
	y.furrow(t, "worker", "--idle-exit", "1s", "--pipeline", "live")
}

func (y *fleetFixture) hours(t *testing.T) string {
	out, _ := y.furrow(t, "query", "--tenant", "acme", "--window", "1h", "--last", "2d")
	return out
}

func TestRewindFoldsAgainWhatIsWrong(t *testing.T) {
	y := newFleetFixture(t)
	want := y.hours(t)
	if !strings.Contains(want, "acme:d0000,") {
		t.Fatalf("the rollups are\n%s", want)
	}
	rollups := y.tables.Table(schema.Names{}.Rollups())
	for page, err := range rollups.Rows(t.Context(), tables.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Rows {
			e.Set("temperature", tables.String("[7,7,7,7,7,7]"))
			if _, err := rollups.Do(t.Context(), tables.InsertOrReplace(e)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if y.hours(t) == want {
		t.Fatal("nothing is wrong")
	}
	if out, _ := y.furrow(t, "rewind", "--tenant", "acme", "--to", "-2d", "--pipeline", "live",
		"--dry-run"); !strings.Contains(out, "3 devices would be") {
		t.Errorf("a dry run says %s", out)
	}
	y.work(t)
	if y.hours(t) == want {
		t.Fatal("a dry run has changed something")
	}
	if out, _ := y.furrow(t, "rewind", "--tenant", "acme", "--to", "-2d", "--pipeline", "live"); !strings.Contains(out,
		"live: 3 devices are") {
		t.Errorf("it says %s", out)
	}
	y.work(t)
	if got := y.hours(t); got != want {
		t.Errorf("after the rewind:\n%s\nwant\n%s", got, want)
	}
	row, err := y.tables.Table(schema.Names{}.Partitions("live")).Get(t.Context(), "2026-09", "acme!acme:d0000")
	if err != nil || !strings.Contains(row.Get("Rewound").Text(), ", by ") {
		t.Errorf("the record of it is %q, %v", row.Get("Rewound").Text(), err)
	}
}

func TestHeldDevicesAreListedAndReleased(t *testing.T) {
	y := newFleetFixture(t)
	if _, errs := y.furrow(t, "device", "held"); !strings.Contains(errs, "No device is held") {
		t.Errorf("of none it says %q", errs)
	}
	e := tables.Entity{PartitionKey: "2026-10", RowKey: "acme!acme:d0001"}
	e.Set("Attempts", tables.Int64(3))
	e.Set("Held", tables.String("a row is cursed"))
	e.Set("HeldUntil", tables.DateTime(tables.TicksOf(time.Now().Add(time.Hour))))
	if _, err := y.tables.Table(schema.Names{}.Partitions("live")).Do(t.Context(),
		tables.Merge(e, tables.AnyETag)); err != nil {
		t.Fatal(err)
	}
	out, _ := y.furrow(t, "device", "held")
	if !strings.Contains(out, "acme:d0001") || !strings.Contains(out, "a row is cursed") || strings.Count(out, "\n") != 1 {
		t.Errorf("it lists\n%s", out)
	}
	out, _ = y.furrow(t, "device", "held", "--json", "--prefix", "acme:")
	if !strings.Contains(out, `"reason":"a row is cursed"`) {
		t.Errorf("in JSON\n%s", out)
	}
	if code, _, errs := furrow(t.Context(), "device", "release", "acme:d0002", "--storage", y.dir); code != exitFailed ||
		!strings.Contains(errs, "is not held") {
		t.Errorf("one that is not held: exit %d, %s", code, errs)
	}
	if code, _, _ := furrow(t.Context(), "device", "release", "--storage", y.dir); code != exitUsage {
		t.Errorf("without a name: exit %d", code)
	}
	if out, _ = y.furrow(t, "device", "release", "acme:d0001"); !strings.Contains(out, "acme:d0001 is released") {
		t.Errorf("it says %s", out)
	}
	if out, _ = y.furrow(t, "device", "held"); out != "" {
		t.Errorf("then it lists\n%s", out)
	}
}

func TestGivenUpMessagesAreListedRedrivenAndPurged(t *testing.T) {
	y := newFleetFixture(t)
	m := jobs.Message{Kind: jobs.Month, Pipeline: "other", Run: tables.TicksOf(time.Now()), Month: schema.Month{Year: 2026,
		Month: 9}}
	if err := y.queue.Put(t.Context(), m, 0); err != nil {
		t.Fatal(err)
	}
	y.work(t)
	out, _ := y.furrow(t, "jobs", "list", "--pipeline", "live")
	if !strings.Contains(out, "1 given up") || !strings.Contains(out, "this worker's is live") {
		t.Errorf("it lists\n%s", out)
	}
	if out, _ = y.furrow(t, "jobs", "redrive", "--pipeline", "live", "--cause", "nothing like it"); !strings.Contains(out,
		"0 messages") {
		t.Errorf("redriven %s", out)
	}
	if out, _ = y.furrow(t, "jobs", "redrive", "--pipeline", "live", "--cause", "this worker's"); !strings.Contains(out,
		"1 messages") {
		t.Errorf("redriven %s", out)
	}
	y.work(t)
	if code, _, errs := furrow(t.Context(), "jobs", "purge", "--storage", y.dir); code != exitUsage ||
		!strings.Contains(errs, "--yes") {
		t.Errorf("unasked: exit %d, %s", code, errs)
	}
	if out, _ = y.furrow(t, "jobs", "purge", "--yes", "--pipeline", "live"); !strings.Contains(out,
		"about 1 messages are deleted") {
		t.Errorf("purged %s", out)
	}
	if out, _ = y.furrow(t, "jobs", "list", "--pipeline", "live", "--json"); !strings.Contains(out, `"poison":0`) {
		t.Errorf("then it lists\n%s", out)
	}
}

func TestCommandsOfAFleetSayWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	startStorage(t, nil, "--data", dir)
	for line, want := range map[string]string{
		"worker --jobs 0":                "--jobs is 0",
		"worker --lease 1s":              "--lease: it must be at least 3s",
		"worker --idle-exit 1ms":         "--idle-exit: it must be at least 1s",
		"worker --pipeline none":         `no such pipeline: "none"`,
		"schedule --every 1ms --once":    "--every: it must be at least 1s",
		"rewind --to -1h":                "name a DEVICE",
		"rewind a/b --to -1h":            "device id",
		"rewind pump-7 --to yesterday":   `"yesterday" is not a time`,
		"rewind pump-7":                  "to",
		"device release pump-7 --all":    "name one of",
		"worker --config /nowhere.yaml":  "/nowhere.yaml",
		"worker --storage /no/directory": "start it with furrow up",
	} {
		args := strings.Fields(line)
		if !strings.Contains(line, "--storage") {
			args = append(args, "--storage", dir)
		}
		code, out, errs := furrow(t.Context(), args...)
		if code == exitOK || !strings.Contains(errs, want) || out != "" && !strings.Contains(out, "USAGE") {
			t.Errorf("%s: exit %d, %s%s; want %q", line, code, out, errs, want)
		}
	}
}

func TestPipelineThatIsAddedFoldsFromTheBeginning(t *testing.T) {
	y := newFleetFixture(t)
	file := filepath.Join(t.TempDir(), "furrow.yaml")
	const config = "pipelines:\n  - name: live\n    processors: [latest, rollup]\n  - name: quarters\n    processors:\n " +
		"     - rollup: {windows: [15m]}\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	y.furrow(t, "schedule", "--once", "--pipeline", "quarters", "--config", file)
	y.furrow(t, "worker", "--idle-exit", "1s", "--pipeline", "quarters", "--config", file)
	sums := map[string]int{}
	for _, window := range []string{"15m", "1m"} {
		out, _ := y.furrow(t, "query", "--tenant", "acme", "--window", window, "--last", "2d", "--format", "csv")
		lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines[1:] {
			n, err := strconv.Atoi(line[3])
			if err != nil {
				t.Fatal(err)
			}
			sums[window] += n
		}
	}
	if want := y.devices * 90; sums["15m"] != want || sums["1m"] != want {
		t.Errorf("the rollups have %v rows, want %d", sums, want)
	}
}
