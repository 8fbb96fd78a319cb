package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"furrow/cmd/internal/bench"
)

func TestBenchMeasuresEveryTargetAndSize(t *testing.T) {
	code, out, errs := furrow(t.Context(), "bench", "storage", "--target", "local", "--target", "other=local",
		"--only", "insert,range", "--rows", "200,1000", "--for", "100ms", "--clients", "2", "--rounds", "2", "--json")
	if code != exitOK || errs != "" {
		t.Fatalf("exit %d, stderr %q", code, errs)
	}
	var report bench.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	var rows []string
	for _, x := range report.Rows {
		rows = append(rows, fmt.Sprint(x.Name, " ", x.Target, " ", x.TableRows))
		if x.Operations == 0 || x.OpsPerSecond <= 0 || x.P50 <= 0 || x.P99 < x.P50 || x.Errors > 0 || len(x.EachRound) != 2 {
			t.Errorf("row %+v", x)
		}
	}
	want := "insert local 0, insert other 0, range local 200, range other 200, range local 1000, range other 1000"
	if got := strings.Join(rows, ", "); got != want {
		t.Errorf("rows are %s; want %s", got, want)
	}
}

func TestLocalStorageServesEveryRowOfTheBench(t *testing.T) {
	code, out, errs := furrow(t.Context(), "bench", "storage", "--rows", "1000", "--for", "100ms", "--clients", "4",
		"--json")
	if code != exitOK || errs != "" {
		t.Fatalf("exit %d, stderr %q", code, errs)
	}
	var report bench.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	measured := map[string]bool{}
	for _, x := range report.Rows {
		measured[x.Name] = x.Operations > 0 && x.Errors == 0
		if !measured[x.Name] {
			t.Errorf("row %+v", x)
		}
	}
	names, _ := bench.Names()
	for _, name := range append(names, "message/put", "message/get", "message/delete", "blob/stage", "blob/commit") {
		if !measured[name] {
			t.Errorf("%s was not measured", name)
		}
	}
}

func TestBenchComparesTargets(t *testing.T) {
	s := startStorage(t, nil, "--data", t.TempDir(), "--show-key")
	t.Setenv("FURROW_TEST_TARGET", s.ConnectionString)
	code, out, errs := furrow(t.Context(), "bench", "storage", "--target", "one=env:FURROW_TEST_TARGET", "--target",
		"two="+s.ConnectionString,
		"--only", "transaction", "--for", "100ms", "--clients", "2")
	if code != exitOK || errs != "" {
		t.Fatalf("exit %d, stderr %q", code, errs)
	}
	if !strings.Contains(out, "one: transaction") || !strings.Contains(out, "two: transaction") {
		t.Errorf("the report is\n%s", out)
	}
	if names := s.tableNames(t); len(names) != 0 {
		t.Errorf("the benchmark left tables behind: %q", names)
	}
	s.mustEnd(t)
}

func TestInterruptedBenchCleansUp(t *testing.T) {
	s := startStorage(t, nil, "--data", t.TempDir(), "--show-key")
	ctx, interrupt := context.WithCancel(t.Context())
	exit := make(chan int)
	go func() {
		code, _, _ := furrow(ctx, "bench", "storage", "--target", s.ConnectionString, "--only", "insert", "--for", "10m",
			"--clients", "2")
		exit <- code
	}()
	for len(s.tableNames(t)) == 0 {
		time.Sleep(10 * time.Millisecond) // until it is at work
	}
	interrupt()
	if code := <-exit; code != exitFailed {
		t.Errorf("exit %d", code)
	}
	if names := s.tableNames(t); len(names) != 0 {
		t.Errorf("the benchmark left tables behind: %q", names)
	}
	s.mustEnd(t)
}

func TestBenchReportsWhichTargetIsUnreachable(t *testing.T) {
	code, _, errs := furrow(t.Context(), "bench", "storage", "--only", "insert", "--for", "100ms",
		"--target", "gone=AccountName=a;AccountKey=a2V5;TableEndpoint=http://127.0.0.1:1/a")
	if code != exitFailed || !strings.Contains(errs, "gone: preparing insert") || !strings.Contains(errs, "127.0.0.1:1") {
		t.Errorf("exit %d, stderr %q", code, errs)
	}
}
