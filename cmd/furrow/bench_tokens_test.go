package main

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"furrow/cmd/internal/bench"
)

// benchedTokens runs the benchmark, which must succeed.
func benchedTokens(t *testing.T, args ...string) (report bench.Report) {
	t.Helper()
	code, out, errs := furrow(t.Context(), append([]string{"bench", "tokens", "--json"}, args...)...)
	if code != exitOK || errs != "" {
		t.Fatalf("exit %d, stderr %q\n%s", code, errs, out)
	}
	must(t, json.Unmarshal([]byte(out), &report))
	return report
}

func TestTokensAreMeasuredOverEveryKindOfConnection(t *testing.T) {
	report := benchedTokens(t, "--only", "kept,first,fresh", "--for", "100ms", "--clients", "3", "--devices", "8",
		"--rounds", "2")
	var rows []string
	for _, x := range report.Rows {
		rows = append(rows, x.Name+" "+x.Target)
		if x.Operations == 0 || x.OpsPerSecond <= 0 || x.P50 <= 0 || x.P99 < x.P50 || x.Errors > 0 || len(x.EachRound) != 2 {
			t.Errorf("row %+v", x)
		}
	}
	if got, want := strings.Join(rows, ", "), "kept http, kept https, first http, first https, fresh https"; got != want {
		t.Errorf("rows are %s; want %s", got, want)
	}
	if len(report.Targets) != 2 || len(report.Storms) != 0 {
		t.Errorf("targets %+v, storms %+v", report.Targets, report.Storms)
	}
}

func TestEveryDeviceOfAStormGetsItsToken(t *testing.T) {
	report := benchedTokens(t, "--only", "storm", "--storm", "40", "--storm-rate", "10")
	if len(report.Storms) != 2 || len(report.Rows) != 0 {
		t.Fatalf("storms %+v, rows %+v", report.Storms, report.Rows)
	}
	for _, s := range report.Storms {
		if s.Tokens != 40 || s.Errors+s.Broken > 0 || s.FirstError != "" {
			t.Errorf("on %s, devices got errors or no token: %+v", s.Target, s)
		}
		if s.TooMany == 0 || s.Requests != s.Tokens+s.TooMany+s.Unavailable {
			t.Errorf("on %s, 20 of 40 devices are admitted at once, but no device was told to wait: %+v", s.Target, s)
		}
		if s.Seconds <= 0 || s.P50 <= 0 || s.P99 < s.P50 || s.P99 > s.Seconds*1000 || s.Connections == 0 {
			t.Errorf("on %s: %+v", s.Target, s)
		}
		if runtime.GOOS == "linux" && (s.PeakMemory == 0 || s.PeakMemory > 400<<20) {
			t.Errorf("on %s, the endpoint takes %d MB", s.Target, s.PeakMemory>>20)
		}
	}
}

func TestTokenBenchPrintsText(t *testing.T) {
	code, out, errs := furrow(t.Context(), "bench", "tokens", "--only", "kept,storm", "--storm", "3", "--for", "100ms",
		"--clients", "1", "--devices", "2")
	if code != exitOK || errs != "" {
		t.Fatalf("exit %d, stderr %q", code, errs)
	}
	for _, want := range []string{"http: kept", "https: kept", "storm on http: 3 of 3 devices"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestTokenBenchRefusesInvalidFlags(t *testing.T) {
	for _, flags := range []string{"--for 10ms", "--rounds 0", "--clients 0", "--clients 4001 --devices 5000",
		"--devices 63", "--storm -1", "--storm-rate 0", "--only keept"} {
		args := append([]string{"bench", "tokens"}, strings.Fields(flags)...)
		if code, _, errs := furrow(t.Context(), args...); code != exitUsage ||
			!strings.Contains(errs, strings.Fields(flags)[0]+" is") && !strings.Contains(errs, "--for: it must be") &&
				!strings.Contains(errs, "kept") {
			t.Errorf("%s: exit %d, %q", flags, code, errs)
		}
	}
}

func TestInterruptedTokenBenchEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	code, _, errs := furrow(ctx, "bench", "tokens", "--only", "kept", "--for", "10m", "--clients", "1", "--devices", "1")
	if code != exitFailed {
		t.Errorf("exit %d, %q", code, errs)
	}
}
