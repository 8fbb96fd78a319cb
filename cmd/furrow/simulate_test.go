package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furrow/tables"
)

// simulated runs "furrow simulate --json", and returns its summary.
func simulated(t *testing.T, args ...string) (line simulationLine, stderr string) {
	t.Helper()
	code, out, errs := furrow(t.Context(), append([]string{"simulate", "--json"}, args...)...)
	if code != exitOK {
		t.Fatalf("%v: exit %d, %s%s", args, code, out, errs)
	}
	if err := json.Unmarshal([]byte(out), &line); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return line, errs
}

// readingsIn counts the readings in the table.
func readingsIn(t *testing.T, storage *running) (n int64) {
	t.Helper()
	account, err := tables.ParseAccount(storage.ConnectionString)
	must(t, err)
	client, err := tables.Connect(tables.Config{Account: account})
	must(t, err)
	for page, err := range client.Table("readings").Rows(t.Context(), tables.Query{}) {
		must(t, err)
		n += int64(len(page.Rows))
	}
	return n
}

func TestSimulatedFleetIsStoredAndRegistered(t *testing.T) {
	dir := t.TempDir()
	storage := startStorage(t, nil, "--data", dir, "--show-key")
	e := startEndpoint(t, "--storage", dir)
	report := filepath.Join(dir, "report")
	line, _ := simulated(t, "--storage", dir, "--endpoint", e.Endpoint, "--devices", "12", "--history", "1h", "--for",
		"2s", "--dirt", "some", "--report", report)
	if line.Devices != 12 || line.Booted != 12 || line.Tenants != 2 || line.Seed != 1 || line.Waiting != 0 ||
		line.Made < 12*60 || line.Stored != readingsIn(t, storage) {
		t.Errorf("%+v; %d rows", line, readingsIn(t, storage))
	}
	code, out, errs := furrow(t.Context(), "device", "list", "--storage", dir, "--json")
	if code != exitOK || strings.Count(out, "simcontoso") != 6 || strings.Count(out, "simfabrikam") != 6 ||
		!strings.Contains(out, `"continent":`) {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	text, err := os.ReadFile(report)
	must(t, err)
	stored := int64(0)
	for l := range strings.Lines(string(text)) {
		var d deviceEnd
		must(t, json.Unmarshal([]byte(l), &d))
		stored += d.Stored
	}
	if strings.Count(string(text), "\n") != 12 || stored != line.Stored {
		t.Errorf("the report is %s", text)
	}

	// More of a past than the enrollment admits widens it; a fleet that grows keeps its devices.
	line, _ = simulated(t, "--storage", dir, "--endpoint", e.Endpoint, "--devices", "16", "--history", "8d", "--every",
		"6h", "--for", "2s", "--pace", "1000000")
	if line.Devices != 16 || line.Made < 16*20 || line.Stored != line.Made {
		t.Errorf("%+v", line)
	}
	storage.stop()
	<-storage.exit
}

func TestReplayIsStoredAsItIsInTheFile(t *testing.T) {
	dir := t.TempDir()
	storage := startStorage(t, nil, "--data", dir, "--show-key")
	e := startEndpoint(t, "--storage", dir)
	file := filepath.Join(dir, "pumps.csv")
	must(t, os.WriteFile(file, []byte("pump,at,bar\np1,2009-05-01T10:00:00Z,1\np1,2009-05-01T10:00:00Z,1\np1,"+
		"2009-05-01T09:59:00Z,2\np1,soon,3\np2,1970-01-01T00:00:00Z,4\np2,2009-05-01T10:00:00Z,5\n"), 0o600))
	line, errs := simulated(t, "--storage", dir, "--endpoint", e.Endpoint, "--replay", file, "--device-column", "pump",
		"--tenant", "acme", "--for", "20s")
	if line.Devices != 2 || line.Made != 5 || line.Stored != 4 || line.SetAside["outside window"] != 1 ||
		line.Wrong != 1 || readingsIn(t, storage) != 4 {
		t.Errorf("%+v; %d rows", line, readingsIn(t, storage))
	}
	if !strings.Contains(errs, `line 5: "soon" is not a time`) {
		t.Errorf("said: %s", errs)
	}
	code, _, errs := furrow(t.Context(), "simulate", "--storage", dir, "--replay", file, "--device-column", "pump",
		"--keep-times")
	if code != exitFailed || !strings.Contains(errs, "no token admits rows of more than 3660d; without --keep-times") {
		t.Errorf("exit %d, %s", code, errs)
	}
	recent := time.Now().Add(-48 * time.Hour).UTC().Truncate(time.Second)
	must(t, os.WriteFile(file, []byte("id,at,bar\np3,"+recent.Format(time.RFC3339)+",1\n"), 0o600))
	if line, _ = simulated(t, "--storage", dir, "--endpoint", e.Endpoint, "--replay", file, "--keep-times", "--tenant",
		"acme", "--for", "20s"); line.Stored != 1 {
		t.Errorf("%+v", line)
	}
	code, out, errs := furrow(t.Context(), "query", "acme:p3", "--raw", "--last", "3d", "--storage", dir, "--format",
		"csv")
	if code == exitOK && !strings.Contains(out, recent.Format("2006-01-02T15:04:05")) {
		t.Errorf("%s%s", out, errs)
	}
}

func TestSimulateSaysWhatIsWrongWithItsFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--devices 0":                        "--devices is 0; it must be from 1",
		"--sensors 13":                       "--sensors is 13; it must be from 1 to 12",
		"--every soon":                       `invalid value "soon" for --every: "soon" is not a duration`,
		"--every 0":                          "--every: it must be at least 1s",
		"--history 3660d":                    "--history: it must be at most 87839h",
		"--pace 1":                           "--pace is 1; it must be more than 1",
		"--dirt lots":                        `--dirt: unknown kind of dirt "lots"`,
		"--for ever":                         `invalid value "ever" for --for: "ever" is not a duration`,
		"--keep-times":                       "--keep-times is about a file; name it with --replay",
		"--replay x.csv --devices 3":         "--devices is about a fleet that is made up",
		"--replay x.csv --tenant=":           "--tenant: ",
		"--endpoint pump --storage a=b;c=d":  "--endpoint: ",
		"--replay nosuch.csv --storage /tmp": "nosuch.csv: no such file",
	} {
		code, _, errs := furrow(t.Context(), append([]string{"simulate"}, strings.Fields(args)...)...)
		if !strings.Contains(errs, want) || (code != exitUsage && !strings.Contains(want, "no such file")) {
			t.Errorf("%s: exit %d, %s; want %q", args, code, errs, want)
		}
	}
}

func TestNumbersAreGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234",
		-123: "-123"} {
		if got := grouped(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}
