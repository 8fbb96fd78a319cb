package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSimulateTellsOfReadingsThatWaitForAnAudit: readings below a device's checkpoint are in no output until an audit
// has found them.
func TestSimulateTellsOfReadingsThatWaitForAnAudit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config, file := filepath.Join(dir, "furrow.yaml"), filepath.Join(dir, "pumps.csv")
	writeFile(t, config, everySecond)
	data := filepath.Join(dir, "data")
	u := startUp(t, "--storage", data, "--config", config)
	f := fixtureIn(t, data)
	now := time.Now().UTC().Truncate(time.Second)
	replay := func(late bool, ages ...time.Duration) {
		t.Helper()
		lines := "device,time,bar\n"
		for i, age := range ages {
			lines += fmt.Sprintf("p1,%s,%d\n", now.Add(-age).Format(time.RFC3339), i)
		}
		writeFile(t, file, lines)
		line, _ := f.simulated("--keep-times --replay", file)
		if says := strings.Contains(line.text(), "furrow audit run --wait"); line.OutOfOrder != late || says != late {
			t.Errorf("%+v; want %v: %s", line, late, line.text())
		}
	}
	folded := func(n int64) {
		t.Helper()
		await(t, fmt.Sprint(n, " rows to be folded"), func() bool {
			return jsonOf[pipelineStatus](t, f.must("status --json"))[0].Rows == n
		})
	}
	replay(false, 30*time.Minute, 29*time.Minute, 28*time.Minute)
	folded(3)
	f.must("audit run --wait") // or the audit that comes with a fleet's first run would find the next ones
	// As many are sent now as are folded then, whether the next run has folded the last one yet or not.
	replay(true, 50*time.Minute, 49*time.Minute, 48*time.Minute, 20*time.Minute)
	folded(4)
	f.says("3 late readings found and folded", "audit run --wait")
	folded(7)
	replay(false, 10*time.Minute)
	u.mustEnd(t)
}
