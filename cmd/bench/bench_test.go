package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

func TestBenchMeasuresEveryTargetAndRound(t *testing.T) {
	effort.OnlyLong(t, "TestLocalStorageServesEveryWorkload measures less")
	t.Parallel()
	all := benched(t, "storage --target local --target other=local --only insert,range --rows 200 --clients 2 "+
		"--for 100ms --rounds 2")
	var names []string
	for _, l := range all[:len(all)/2] {
		names = append(names, l.name)
	}
	const want = "Storage/insert/target=local, Storage/insert/target=other, Storage/range/target=local, " +
		"Storage/range/target=other"
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("the first round measures %s; want %s", got, want)
	}
	for i, l := range all {
		if l.n == 0 || l.figures["ns/op"] <= 0 || l.figures["p50-ns"] <= 0 || l.name != all[len(all)-1-i].name {
			t.Errorf("line %+v", l)
		}
	}
}

func TestLocalStorageServesEveryWorkload(t *testing.T) {
	t.Parallel()
	measured := map[string]bool{}
	for _, l := range benched(t, "storage --rows 1000 --for 100ms --clients 4") {
		measured[l.name] = l.n > 0 && l.figures["p50-ns"] > 0 && l.figures["p99-ns"] >= l.figures["p50-ns"]
	}
	for _, name := range append(namesOf(storageWorkloads()), "message/put", "message/get", "message/delete", "blob/stage",
		"blob/commit") {
		if !measured["Storage/"+name+"/target=local"] {
			t.Errorf("%s was not measured", name)
		}
	}
}

func TestBenchComparesTargetsAndCleansUp(t *testing.T) {
	a := azuretest.Local(t)
	t.Setenv("FURROW_TEST_TARGET", a.ConnectionString())
	code, out, errs := benchmark(t.Context(), "storage --target one=env:FURROW_TEST_TARGET --target two="+
		a.ConnectionString()+" --only transaction --for 100ms --clients 2")
	if code != 0 || errs != "" || !strings.Contains(out, "transaction/target=one-") ||
		!strings.Contains(out, "transaction/target=two-") {
		t.Errorf("exit %d, %s\n%s", code, errs, out)
	}
	interrupted(t, a, "storage --only insert --for 10m --clients 2")
}

// interrupted stops a benchmark of a target when it has begun. Nothing may be left there.
func interrupted(t *testing.T, a azuretest.Account, line string) {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	exit := make(chan string)
	go func() {
		code, _, errs := benchmark(ctx, line+" --target "+a.ConnectionString())
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

func TestBenchReportsWhichTargetIsUnreachable(t *testing.T) {
	_, _, errs := benchmark(t.Context(), "storage --only insert --for 100ms --target "+
		"gone=AccountName=a;AccountKey=a2V5;TableEndpoint=http://127.0.0.1:1/a")
	if !strings.Contains(errs, "gone: preparing insert") || !strings.Contains(errs, "127.0.0.1:1") {
		t.Error(errs)
	}
}

func TestWhatCannotBeMeasuredIsRefused(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"stoarge":                               `there is no benchmark "stoarge"; did you mean "storage"?`,
		"storage all":                           `takes no arguments; "all" is one`,
		"storage --clients many":                `invalid value "many" for flag -clients`,
		"storage --clients 0":                   "--clients is 0",
		"storage --for 1ms":                     "it must be at least 100ms",
		"storage --rounds 0":                    "--rounds is 0",
		"storage --rows 50":                     "--rows is 50",
		"storage --only inset":                  `there is no workload "inset"; did you mean "insert"?`,
		"storage --target local --target local": `two targets are called "local"`,
		"storage --target env:FURROW_NONE":      "FURROW_NONE holds no connection string",
		"storage --target rubbish":              "--target",
		"storage --target embedded":             "for bench fanout",
		"fanout --tenants 3 --devices 2":        "--tenants",
		"fanout --batch 100":                    "--batch",
		"fanout --only rest":                    `no workload "rest"`,
		"fanout --target nowhere":               "--target",
		"storage --furrow /nowhere/furrow":      "/nowhere/furrow",
	} {
		if code, _, errs := benchmark(t.Context(), line); code != 2 || !strings.Contains(errs, says) {
			t.Errorf("%s: exit %d, %s", line, code, errs)
		}
	}
}

// built is the furrow program that all tests measure.
var built string

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "furrow-bench-test-")
	if err == nil {
		built = filepath.Join(folder, "furrow.exe")
		err = exec.Command("go", "build", "-o", built, "furrow/cmd/furrow").Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(folder) // the system clears it
	os.Exit(code)
}

// benchmark runs a command line.
func benchmark(ctx context.Context, line string) (code int, out, errs string) {
	var stdout, stderr strings.Builder
	args := append([]string{"bench"}, strings.Fields(line)...)
	if !strings.Contains(line, "--furrow") && len(args) > 2 {
		args = append(args, "--furrow", built)
	}
	code = run(ctx, args, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}
