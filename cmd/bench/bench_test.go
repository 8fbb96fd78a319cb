package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"furrow/cmd/internal/lab/bench"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
)

// benched runs a benchmark, which must succeed. It checks and names the rows of the report.
func benched(t *testing.T, line string) (report bench.Report, rows []string) {
	t.Helper()
	code, out, errs := benchmark(t.Context(), line+" --json")
	if code != 0 || errs != "" {
		t.Fatalf("exit %d, stderr %q\n%s", code, errs, out)
	}
	must.Succeed(t, json.Unmarshal([]byte(out), &report))
	for _, x := range report.Rows {
		rows = append(rows, strings.TrimSuffix(fmt.Sprint(x.Name, " ", x.Target, " ", x.TableRows), " 0"))
		if x.Operations == 0 || x.P50 <= 0 || x.P99 < x.P50 || x.Errors > 0 {
			t.Errorf("row %+v", x)
		}
	}
	return report, rows
}

func TestBenchMeasuresEveryTargetSizeAndRound(t *testing.T) {
	effort.OnlyLong(t, "TestLocalStorageServesEveryRowOfTheBench measures less")
	t.Parallel()
	for line, want := range map[string]string{
		"storage --target local --target other=local --only insert,range --rows 200,1000 --clients 2"://
		"insert local, insert other, range local 200, range other 200, range local 1000, range other 1000",
		"storage --target local --target null --only insert,get --rows 1000 --clients 2"://
		"insert local, insert null, get local 1000",
		"tokens --only kept,first,fresh --clients 3 --devices 8"://
		"kept http, kept https, first http, first https, fresh https",
	} {
		report, rows := benched(t, line+" --for 100ms --rounds 2")
		if got := strings.Join(rows, ", "); got != want {
			t.Errorf("rows are %s; want %s", got, want)
		}
		for _, x := range report.Rows {
			if x.OpsPerSecond <= 0 || len(x.EachRound) != 2 {
				t.Errorf("row %+v", x)
			}
		}
	}
}

func TestLocalStorageServesEveryRowOfTheBench(t *testing.T) {
	t.Parallel()
	_, rows := benched(t, "storage --rows 1000 --for 100ms --clients 4")
	measured := "\n" + strings.Join(rows, "\n")
	names, _ := bench.Names()
	for _, name := range append(names, "message/put", "message/get", "message/delete", "blob/stage", "blob/commit") {
		if !strings.Contains(measured, "\n"+name+" local") {
			t.Errorf("%s was not measured", name)
		}
	}
}

func TestBenchComparesTargetsAndCleansUp(t *testing.T) {
	a := azuretest.Local(t)
	t.Setenv("FURROW_TEST_TARGET", a.ConnectionString())
	code, out, errs := benchmark(t.Context(), "storage --target one=env:FURROW_TEST_TARGET --target two="+
		a.ConnectionString()+" --only transaction --for 100ms --clients 2")
	if code != 0 || errs != "" || !strings.Contains(out, "one: transaction") ||
		!strings.Contains(out, "two: transaction") {
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

func TestTokenBenchPrintsText(t *testing.T) {
	t.Parallel()
	code, out, errs := benchmark(t.Context(), "tokens --only kept,storm --storm 3 --for 100ms --clients 1 --devices 2")
	for _, want := range []string{"http: kept", "https: kept", "storm on http: 3 of 3 devices"} {
		if code != 0 || errs != "" || !strings.Contains(out, want) {
			t.Errorf("exit %d, %s, no %q in\n%s", code, errs, want, out)
		}
	}
}

func TestWhatCannotBeMeasuredIsRefused(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"stoarge":                               `there is no benchmark "stoarge"; did you mean "storage"?`,
		"storage all":                           `takes no arguments; "all" is one`,
		"storage --clients many":                `invalid value "many" for flag -clients`,
		"storage --clients 0":                   "--clients is 0",
		"storage --size 1":                      "--size is 1",
		"storage --for 1ms":                     "it must be at least 100ms",
		"storage --rounds 0":                    "--rounds is 0",
		"storage --rows 150":                    `--rows: "150" is not a multiple of 100`,
		"storage --rows 100,100":                "--rows: 100 is given twice",
		"storage --only inset":                  `there is no row "inset"; did you mean "insert"?`,
		"storage --target local --target local": `two targets are called "local"`,
		"storage --target env:FURROW_NONE":      "FURROW_NONE holds no connection string",
		"storage --target rubbish":              "--target",
		"storage --target embedded":             "for bench fanout",
		"storage --ca /nowhere.pem":             "/nowhere.pem",
		"tokens --only keept":                   `did you mean "kept"?`,
		"tokens --for 10ms":                     "it must be at least 100ms",
		"tokens --clients 4001 --devices 5000":  "--clients is 4001",
		"tokens --devices 63":                   "--devices is 63",
		"tokens --storm -1":                     "--storm is -1",
		"tokens --storm-rate 0":                 "--storm-rate is 0",
		"fanout --tenants 3 --devices 2":        "--tenants",
		"fanout --batch 100":                    "--batch",
		"fanout --only rest":                    `no row "rest"`,
		"fanout --target nowhere":               "--target",
		"fanout --format csv":                   "it takes text or go",
		"tokens --furrow /nowhere/furrow":       "/nowhere/furrow",
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
