package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"furrow/cmd/internal/bench"
	"furrow/tables/azuretest/effort"
)

// benched runs a benchmark, which must succeed. It checks and names the rows of the report.
func benched(t *testing.T, line string) (report bench.Report, rows []string) {
	t.Helper()
	code, out, errs := furrow(t.Context(), strings.Fields("bench "+line+" --json")...)
	if code != exitOK || errs != "" {
		t.Fatalf("exit %d, stderr %q\n%s", code, errs, out)
	}
	must(t, json.Unmarshal([]byte(out), &report))
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
		"storage --target local --target null --only insert,bare-insert,get --rows 1000 --clients 2"://
		"insert local, insert null, bare-insert local, bare-insert null, get local 1000",
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
	s := startStorage(t, "--data", t.TempDir(), "--show-key")
	t.Setenv("FURROW_TEST_TARGET", s.said.ConnectionString)
	code, out, errs := furrow(t.Context(), "bench", "storage", "--target", "one=env:FURROW_TEST_TARGET", "--target",
		"two="+s.said.ConnectionString, "--only", "transaction", "--for", "100ms", "--clients", "2")
	if code != exitOK || errs != "" || !strings.Contains(out, "one: transaction") ||
		!strings.Contains(out, "two: transaction") {
		t.Errorf("exit %d, %s\n%s", code, errs, out)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	exit := make(chan int)
	go func() {
		code, _, _ := furrow(ctx, "bench", "storage", "--target", s.said.ConnectionString, "--only", "insert", "--for", "10m",
			"--clients", "2")
		exit <- code
	}()
	await(t, "the benchmark to begin", func() bool { return len(tableNames(t, s)) > 0 })
	interrupt()
	if code := <-exit; code != exitFailed {
		t.Errorf("interrupted: exit %d", code)
	}
	if names := tableNames(t, s); len(names) != 0 {
		t.Errorf("the benchmark left tables behind: %q", names)
	}
	s.mustEnd(t)
}

func TestBenchReportsWhichTargetIsUnreachable(t *testing.T) {
	errs := refused(t, exitFailed, "gone: preparing insert", "bench storage --only insert --for 100ms --target",
		"gone=AccountName=a;AccountKey=a2V5;TableEndpoint=http://127.0.0.1:1/a")
	if !strings.Contains(errs, "127.0.0.1:1") {
		t.Error(errs)
	}
}

func TestTokenBenchPrintsText(t *testing.T) {
	t.Parallel()
	code, out, errs := furrow(t.Context(), strings.Fields("bench tokens --only kept,storm --storm 3 --for 100ms "+
		"--clients 1 --devices 2")...)
	for _, want := range []string{"http: kept", "https: kept", "storm on http: 3 of 3 devices"} {
		if code != exitOK || errs != "" || !strings.Contains(out, want) {
			t.Errorf("exit %d, %s, no %q in\n%s", code, errs, want, out)
		}
	}
}
