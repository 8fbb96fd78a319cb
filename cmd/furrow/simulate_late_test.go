package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSimulateTellsOfReadingsThatWaitForAnAudit: readings below a device's checkpoint are in no output until an audit
// has found them. What was made, stored and late is the same number in the simulation, in the raw table, in the ledger
// and in the audit.
func TestSimulateTellsOfReadingsThatWaitForAnAudit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config, file := filepath.Join(dir, "furrow.yaml"), filepath.Join(dir, "pumps.csv")
	writeFile(t, config, everySecond)
	data := filepath.Join(dir, "data")
	u := startUp(t, "--storage", data, "--config", config)
	f := fixtureIn(t, data)
	now := time.Now().UTC().Truncate(time.Second)
	var made, stored int64
	replay := func(late bool, ages ...time.Duration) {
		t.Helper()
		lines := "device,time,bar\n"
		for i, age := range ages {
			lines += fmt.Sprintf("p1,%s,%d\n", now.Add(-age).Format(time.RFC3339), i)
		}
		writeFile(t, file, lines)
		line, _ := f.simulated("--keep-times --replay", file)
		made, stored = made+line.Made, stored+line.Stored
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
	line := jsonOf[auditLine](t, f.must("audit run --wait --json"))[0]
	if line.Late != 3 || line.Devices != 1 || !strings.Contains(line.text(), "3 late readings found and folded, in ") {
		t.Errorf("the audit is %+v: %s", line, line.text())
	}
	folded(7)
	replay(false, 10*time.Minute)
	folded(8)
	rows := int64(strings.Count(f.must("query replay:p1 --raw --from -2h --json"), "\n"))
	counted := f.must("verify --all --json")
	sum := jsonOf[verifiedTotals](t, counted[strings.Index(counted, "\n")+1:])[0] // after the line of the device
	if made != 8 || stored != 8 || rows != 8 || sum.Made != 8 || sum.Stored != 8 || sum.Counts["folded"] != 8 {
		t.Errorf("simulate: %d made, %d stored; query: %d; verify: %+v", made, stored, rows, sum)
	}
	u.mustEnd(t)
}
