package main

import (
	"math"
	"os"
	"strings"
	"testing"

	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
)

// TestFanoutBenchFoldsEveryRow on storage that it does not start, and leaves nothing there.
func TestFanoutBenchFoldsEveryRow(t *testing.T) {
	effort.OnlyLong(t, "TestFanoutBenchMeasuresStorageWithinItself needs no processes")
	t.Parallel()
	a := azuretest.Local(t)
	lines := map[string][]line{}
	for _, l := range benched(t, "fanout --devices 40 --batch 10 --tenants 4 --months 2 --rows 30 --rounds 2 --target "+
		a.ConnectionString()) {
		name := strings.Split(l.name, "/")[1]
		lines[name] = append(lines[name], l)
		if l.n != 40 || l.figures["devices/s"] <= 0 || l.figures["tables-query/op"] <= 0 || l.figures["$/device-month"] <= 0 {
			t.Errorf("%+v", l)
		}
	}
	for _, name := range namesOf(fanouts()) {
		if len(lines[name]) != 2 {
			t.Errorf("%s was measured %d times", name, len(lines[name]))
		}
	}
	rows := func(name string) float64 { // of a round
		f := lines[name][0].figures
		return math.Round(f["rows/s"] * f["ns/op"] * 40 / 1e9)
	}
	for name, want := range map[string]float64{"idle": 0, "active": 40, "backlog": 40 * 30, "archive": 40 * 30,
		"beside": 38 + 2*20*30} {
		if got := rows(name); math.Abs(got-want) > want/1000 {
			t.Errorf("%s folds %v rows, want %v", name, got, want)
		}
	}
	if lines["archive"][0].figures["objects-put-object/op"] == 0 {
		t.Errorf("no file was written of a day: %+v", lines["archive"])
	}
	if names := tableNames(t, a); len(names) != 0 {
		t.Errorf("the benchmark left tables behind: %q", names)
	}
}

// TestIdleRunIsMeasuredWithoutAudits, which the first run of a fleet puts for all of its devices.
func TestIdleRunIsMeasuredWithoutAudits(t *testing.T) {
	t.Parallel()
	all := benched(t, "fanout --devices 200 --clients 2 --only idle --rounds 1")
	// One for each device, two for each of four batches, and those of the master job.
	if n := all[0].figures["tables-query/op"] * 200; n < 199.5 || n > 220 {
		t.Errorf("a run without new rows takes %v queries", n)
	}
}

// TestFanoutBenchMeasuresStorageWithinItself, whose requests need no connection, and removes its directory.
func TestFanoutBenchMeasuresStorageWithinItself(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	all := benched(t, "fanout --target embedded --devices 40 --only active --rounds 2")
	for _, l := range all {
		if f := l.figures; f["rows/s"] <= 0 || f["tables-query/op"] < 1 || f["storage-cpu-ns/op"]+f["wire-cpu-ns/op"] != 0 {
			t.Errorf("%+v", l)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 || len(all) != 2 {
		t.Errorf("the benchmark left %v, %v, after %d rounds", left, err, len(all))
	}
}

func TestInterruptedFanoutBenchLeavesNothing(t *testing.T) {
	t.Parallel()
	interrupted(t, azuretest.Local(t), "fanout --devices 20 --rounds 1000")
}
