package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSimulateSaysHowManyReadingsWaitForAnAudit: readings that are older than what a
// device has sent, and had folded, are in no output until an audit has found them.
func TestSimulateSaysHowManyReadingsWaitForAnAudit(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "furrow.yaml")
	must(t, os.WriteFile(config, []byte("pipelines: [{name: live, cadence: 1s, settle: 1s, processors: [latest, rollup: "+
		"{windows: [1m, 1h, 1d]}]}]\n"), 0o600))
	data := filepath.Join(dir, "data")
	u := startUp(t, "--storage", data, "--config", config)
	now := time.Now().UTC().Truncate(time.Second)
	replay := func(want int64, ages ...time.Duration) string {
		t.Helper()
		lines := "device,time,bar\n"
		for i, age := range ages {
			lines += fmt.Sprintf("p1,%s,%d\n", now.Add(-age).Format(time.RFC3339), i)
		}
		file := filepath.Join(dir, "pumps.csv")
		must(t, os.WriteFile(file, []byte(lines), 0o600))
		code, out, errs := furrow(t.Context(), "simulate", "--storage", data, "--replay", file, "--keep-times", "--json")
		var line simulationLine
		if err := json.Unmarshal([]byte(out), &line); err != nil || code != exitOK || line.Late == nil ||
			*line.Late != want || line.Pipeline != "live" {
			t.Errorf("exit %d, %v: %s%s; want %d late readings", code, err, out, errs, want)
		}
		return line.text()
	}
	folded := func(n int64) {
		t.Helper()
		for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
			_, out, _ := furrow(t.Context(), "status", "--storage", data, "--json")
			var all []pipelineStatus
			must(t, json.Unmarshal([]byte(out), &all))
			if all[0].Rows == n {
				return
			}
			if time.Since(began) > time.Minute {
				t.Fatalf("%d rows are not folded: %s", n, out)
			}
		}
	}
	replay(0, 30*time.Minute, 29*time.Minute, 28*time.Minute)
	folded(3)
	text := replay(3, 50*time.Minute, 49*time.Minute, 48*time.Minute, 20*time.Minute)
	for _, want := range []string{"3 readings came after", "furrow audit run --pipeline live --wait"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	folded(4)
	code, out, errs := furrow(t.Context(), "audit", "run", "--storage", data, "--wait")
	if code != exitOK || !strings.Contains(out, "3 late readings found and folded") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	folded(7)
	replay(0, 10*time.Minute)
	u.mustEnd(t)
}
