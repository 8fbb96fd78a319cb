package main

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestWorkThatIsToldToStopSaysWhereItStands: its exit code is 130, as that of any program that Ctrl-C ends.
func TestWorkThatIsToldToStopSaysWhereItStands(t *testing.T) {
	f := newFixture(t)
	inEmptyDirectory(t)
	f.must("enrollment add e1 --tenant acme")
	writeFile(t, "past.csv", "device,time,temp\npump-7,2026-01-01T23:00:00Z,1\n")
	f.must("import past.csv")
	backup := f.must("backup whole --json")
	if !strings.Contains(backup, `"files":`) {
		t.Fatalf("the backup is %s", backup)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for line, says := range map[string]string{
		"import past.csv --storage " + f.storage:            "stopped before the work began",
		"backup part --storage " + f.storage:                "stopped before the work began",
		"restore whole --storage restored":                  "stopped; copying the backup; nothing is restored",
		"archive verify --storage " + f.storage:             "stopped before the work began",
		"archive copy --tenant acme --storage " + f.storage: "stopped before the work began",
		"copy " + f.storage + " " + newFixture(t).storage:   "stopped; copying table; what is written stays",
	} {
		code, _, errs := furrow(stopped, strings.Fields(line)...)
		if code != exitStopped || !strings.Contains(errs, says) {
			t.Errorf("furrow %s: exit %d and says %s; want %d and %q", line, code, errs, exitStopped, says)
		}
	}
	f.must("restore whole --storage restored")
}

// TestWorkThatIsStoppedAmidATableContinues stops an import and a copy when they touch readings for the first time.
func TestWorkThatIsStoppedAmidATableContinues(t *testing.T) {
	t.Setenv("FURROW_MASTER_KEY", base64.StdEncoding.EncodeToString(make([]byte, 32)))
	f, to := newObservedFixture(t), newFixture(t)
	inEmptyDirectory(t)
	f.must("enrollment add e1 --tenant acme")
	writeFile(t, "past.csv", "device,time,temp\npump-7,2026-01-01T23:00:00Z,1\n")
	stopAtReadings := func(says, line string) {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		f.refuses = func(r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/readings") {
				stop()
			}
			return false
		}
		code, _, errs := furrow(ctx, strings.Fields(line)...)
		if code != exitStopped || !strings.Contains(errs, says) ||
			!strings.Contains(errs, "run the same command again to continue") {
			t.Errorf("furrow %s: exit %d: %s", line, code, errs)
		}
		f.refuses = nil
	}
	stopAtReadings("stopped at line 1 of past.csv, with 0 rows written", "import past.csv --storage "+f.storage)
	f.must("import past.csv")
	f.must("schedule --once")
	stopAtReadings("stopped; copying table: ", "copy "+f.storage+" "+to.storage)
	if code, out, errs := furrow(t.Context(), "copy", f.storage, to.storage); code != exitOK {
		t.Errorf("again: exit %d, %s, %s", code, out, errs)
	}
}

func TestWorkShowsItsShareAndTheTimeLeft(t *testing.T) {
	var out strings.Builder
	w := &longWork{ctx: t.Context(), show: newProgress(&out, 0), began: time.Now().Add(-10 * time.Second)}
	w.show.stage = "copying"
	w.reached(w.speed(5000, "row") + ", " + w.share(25, 100, "all"))
	if got := out.String(); !strings.Contains(got, "copying: 5,000 rows, 500 a second, 25% of all, 30s left") &&
		!strings.Contains(got, "499 a second") {
		t.Errorf("it shows %s", got)
	}
	read := w.bytes(strings.NewReader("abcd"), new(atomic.Int64), 8)
	if _, err := io.ReadAll(read); err != nil || !strings.Contains(out.String(), "4 B, ") ||
		!strings.Contains(out.String(), "50% of 8 B") {
		t.Errorf("of bytes it shows %s, %v", out.String(), err)
	}
}
