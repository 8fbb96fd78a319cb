package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"furrow/cmd/internal/lab/bench"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
)

// TestFanoutBenchFoldsEveryRow on storage that it does not start, and leaves nothing there.
func TestFanoutBenchFoldsEveryRow(t *testing.T) {
	effort.OnlyLong(t, "TestFanoutBenchMeasuresStorageWithinItself needs no processes")
	t.Parallel()
	a := azuretest.Local(t)
	line := "fanout --devices 40 --batch 10 --tenants 4 --months 2 --rows 30 --rounds 2 --target"
	code, out, errs := benchmark(t.Context(), line+" "+a.ConnectionString()+" --json")
	if code != 0 {
		t.Fatalf("exit %d, %s", code, errs)
	}
	report := runsOf(t, out)
	rows := map[string]bench.FanoutRow{}
	for _, x := range report.Rows {
		rows[x.Name] = x
		if len(x.EachRound) != 2 || x.DevicesPerSecond <= 0 || x.Tables < 1 || x.Queues <= 0 || x.Dollars <= 0 {
			t.Errorf("%+v", x)
		}
	}
	if names, _ := bench.FanoutNames(); len(rows) != len(names) {
		t.Errorf("%d workloads were measured, of %q", len(rows), names)
	}
	if idle, active := rows["idle"], rows["active"]; idle.RowsPerSecond != 0 || active.Tables <= idle.Tables ||
		rows["reports"].Tables <= active.Tables || rows["backlog"].RowsPerSecond <= rows["backlog"].DevicesPerSecond {
		t.Errorf("%+v", report)
	}
	for _, round := range rows["archive"].EachRound {
		if round.Rows != 40*30 || round.Operations["objects put object"] == 0 {
			t.Errorf("no file was written of a day: %+v", round)
		}
	}
	if round := rows["beside"].EachRound[0]; round.Rows != 38+2*20*30 || round.SeenSeconds > round.Seconds {
		t.Errorf("two devices of 40 have more to catch up: %+v", round)
	}
	if names := tableNames(t, a); len(names) != 0 {
		t.Errorf("the benchmark left tables behind: %q", names)
	}
}

func runsOf(t *testing.T, out string) (report bench.FanoutReport) {
	t.Helper()
	must.Succeed(t, json.Unmarshal([]byte(out), &report))
	return report
}

// TestIdleRunIsMeasuredWithoutAudits, which the first run of a fleet puts for all of its devices.
func TestIdleRunIsMeasuredWithoutAudits(t *testing.T) {
	t.Parallel()
	line := "fanout --devices 200 --clients 2 --only idle --rounds 1 --json"
	code, out, errs := benchmark(t.Context(), line)
	if code != 0 {
		t.Fatalf("exit %d, %s", code, errs)
	}
	round := runsOf(t, out).Rows[0].EachRound[0]
	// One for each device, two for each of four batches, and those of the master job.
	if n := round.Operations["tables query"]; n < 200 || n > 220 {
		t.Errorf("a run without new rows takes %d queries", n)
	}
}

// TestFanoutBenchMeasuresStorageWithinItself, whose requests need no connection, and removes its directory.
func TestFanoutBenchMeasuresStorageWithinItself(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	line := "fanout --target embedded --devices 40 --only active --rounds 2 --json"
	code, out, errs := benchmark(t.Context(), line)
	if code != 0 {
		t.Fatalf("exit %d, %s", code, errs)
	}
	report := runsOf(t, out)
	for _, round := range report.Rows[0].EachRound {
		if round.Rows != 40 || round.Operations["tables query"] < 40 || round.StorageCPU != 0 || round.WireCPU != 0 {
			t.Errorf("%+v", round)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 || report.StorageMemory != 0 {
		t.Errorf("the benchmark left %v, %v", left, err)
	}
}

// TestFanoutBenchPrintsWhatBenchstatReads and a table for people.
func TestFanoutBenchPrintsWhatBenchstatReads(t *testing.T) {
	t.Parallel()
	line := "fanout --devices 3 --only idle --rounds 2 --format go"
	code, out, errs := benchmark(t.Context(), line)
	read := regexp.MustCompile(`(?m)^BenchmarkFanout/idle/devices=3\S*-\d+\t3\t[\d.]+ ns/op\t.*\t[\d.]+ tables-query/op`)
	if code != 0 || len(read.FindAllString(out, -1)) != 2 {
		t.Errorf("exit %d, %s\n%s", code, errs, out)
	}
	var text bytes.Buffer
	report := bench.FanoutReport{Devices: 3, Rows: []bench.FanoutRow{{Name: "idle", Tables: 1.5}}}
	must.Succeed(t, report.WriteText(&text))
	if !strings.Contains(text.String(), "1.500") || !strings.Contains(text.String(), "operations a device") {
		t.Error(text.String())
	}
}

func TestInterruptedFanoutBenchLeavesNothing(t *testing.T) {
	t.Parallel()
	interrupted(t, azuretest.Local(t), "fanout --devices 20 --rounds 1000")
}
