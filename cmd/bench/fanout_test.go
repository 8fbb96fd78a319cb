package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
)

// A line is what a benchmark prints of a measurement.
type line struct {
	name    string // without the number of processors
	n       int
	figures map[string]float64 // by unit
}

// benched runs a benchmark, which must succeed, and returns its lines.
func benched(t *testing.T, command string) (all []line) {
	t.Helper()
	code, out, errs := benchmark(t.Context(), command)
	if code != 0 || errs != "" {
		t.Fatalf("exit %d, stderr %q\n%s", code, errs, out)
	}
	for text := range strings.Lines(out) {
		fields := strings.Fields(text)
		if !strings.HasPrefix(text, "Benchmark") {
			continue
		}
		l := line{name: fields[0][len("Benchmark"):strings.LastIndexByte(fields[0], '-')],
			n: must.Have(strconv.Atoi(fields[1]))(t), figures: map[string]float64{}}
		for i := 2; i < len(fields); i += 2 {
			l.figures[fields[i+1]] = must.Have(strconv.ParseFloat(fields[i], 64))(t)
		}
		all = append(all, l)
	}
	return all
}

// benchmark runs a command line.
func benchmark(ctx context.Context, line string) (code int, out, errs string) {
	var stdout, stderr strings.Builder
	code = run(ctx, append([]string{"bench"}, strings.Fields(line)...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func tableNames(t *testing.T, a azuretest.Account) (names []string) {
	t.Helper()
	client := must.Have(aztables.NewServiceClientFromConnectionString(a.ConnectionString(), nil))(t)
	for pager := client.NewListTablesPager(nil); pager.More(); {
		for _, table := range must.Have(pager.NextPage(t.Context()))(t).Tables {
			names = append(names, *table.Name)
		}
	}
	return names
}

// TestBenchFoldsEveryRow on storage that it does not serve, and leaves nothing there.
func TestBenchFoldsEveryRow(t *testing.T) {
	effort.OnlyLong(t, "TestBenchMeasuresStorageWithinItself has fewer workloads")
	t.Parallel()
	a := azuretest.Local(t)
	lines := map[string][]line{}
	for _, l := range benched(t, "--devices 40 --batch 10 --tenants 4 --months 2 --rows 30 --rounds 2 --storage "+
		a.ConnectionString()) {
		name := strings.Split(l.name, "/")[1]
		lines[name] = append(lines[name], l)
		if l.n != 40 || l.figures["devices/s"] <= 0 || l.figures["tables-query/op"] <= 0 || l.figures["$/device-month"] <= 0 {
			t.Errorf("%+v", l)
		}
	}
	for _, w := range fanouts() {
		if len(lines[w.name]) != 2 {
			t.Errorf("%s was measured %d times", w.name, len(lines[w.name]))
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
	all := benched(t, "--devices 200 --clients 2 --only idle --rounds 1")
	// One for each device, two for each of four batches, and those of the master job.
	if n := all[0].figures["tables-query/op"] * 200; n < 199.5 || n > 220 {
		t.Errorf("a run without new rows takes %v queries", n)
	}
}

// TestBenchMeasuresStorageWithinItself, whose requests need no connection, and removes its directory.
func TestBenchMeasuresStorageWithinItself(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	all := benched(t, "--devices 40 --only active --rounds 2")
	for _, l := range all {
		if f := l.figures; f["rows/s"] <= 0 || f["tables-query/op"] < 1 || f["wire-cpu-ns/op"] != 0 {
			t.Errorf("%+v", l)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 0 || len(all) != 2 {
		t.Errorf("the benchmark left %v, %v, after %d rounds", left, err, len(all))
	}
}

// TestInterruptedBenchLeavesNothing on storage that it does not serve.
func TestInterruptedBenchLeavesNothing(t *testing.T) {
	t.Parallel()
	a := azuretest.Local(t)
	ctx, interrupt := context.WithCancel(t.Context())
	exit := make(chan string)
	go func() {
		code, _, errs := benchmark(ctx, "--devices 20 --rounds 1000 --storage "+a.ConnectionString())
		if code != 1 || !strings.Contains(errs, "interrupted") && !strings.Contains(errs, "canceled") {
			errs = fmt.Sprintf("exit %d, %s", code, errs)
		} else {
			errs = ""
		}
		exit <- errs
	}()
	for len(tableNames(t, a)) == 0 {
		runtime.Gosched()
	}
	interrupt()
	if errs := <-exit; errs != "" {
		t.Error(errs)
	}
	if names := tableNames(t, a); len(names) != 0 {
		t.Errorf("the benchmark left tables behind: %q", names)
	}
}

func TestWhatCannotBeMeasuredIsRefused(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"all":                       `takes no arguments; "all" is one`,
		"--clients many":            `invalid value "many" for flag -clients`,
		"--clients 0":               "--clients is 0",
		"--rounds 0":                "--rounds is 0",
		"--tenants 3 --devices 2":   "--tenants",
		"--batch 100":               "--batch",
		"--only rest":               `no workload "rest"`,
		"--storage env:FURROW_NONE": "FURROW_NONE holds nothing",
		"--storage /nowhere":        "--storage",
	} {
		if code, _, errs := benchmark(t.Context(), line); code != 2 || !strings.Contains(errs, says) {
			t.Errorf("%s: exit %d, %s", line, code, errs)
		}
	}
}
