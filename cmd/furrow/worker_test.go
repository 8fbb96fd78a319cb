package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/tables"
)

var (
	killDevices = flag.Int("worker.devices", 40, "number of devices of TestKilledWorkerLosesNothing")
	killRows    = flag.Int("worker.rows", 300, "number of rows of each device")
)

// folded sums the rows of the tracking rows.
func (f *fixture) folded() (rows int) {
	f.t.Helper()
	for page, err := range f.client.Table(f.names.Partitions("live")).Rows(f.t.Context(),
		tables.Query{Select: []string{"Rows"}}) {
		if err != nil {
			return 0 // the worker has not created it yet
		}
		for i := range page.Rows {
			rows += int(page.Rows[i].Get("Rows").Int())
		}
	}
	return rows
}

// TestKilledWorkerLosesNothing kills a worker process during its work. Another one takes over when the lease
// ends, and each row is in each rollup once.
func TestKilledWorkerLosesNothing(t *testing.T) {
	t.Parallel()
	const lease = 5 * time.Second
	f := newFixture(t)
	f.seed(*killDevices, *killRows)
	total := *killDevices * *killRows
	f.says("enqueued", "schedule --once --pipeline live")
	// The other worker runs all the time, with capacity to spare.
	args := []string{"--storage", f.storage, "--pipeline", "live", "--lease", lease.String(), "--jobs"}
	first := startWorker(t, os.Stderr, append(args, "2")...)
	for f.folded() == 0 {
		time.Sleep(time.Millisecond)
	}
	var log takeovers
	second := startWorker(t, &log, append(args, "16")...)
	must(t, first.Process.Kill())
	_ = first.Wait()
	killed, done := time.Now(), f.folded()
	if done == total {
		t.Skip("the worker had done everything before it was killed")
	}
	for now := done; now < total; now = f.folded() {
		if time.Since(killed) > 3*time.Minute {
			t.Fatalf("%d of %d rows are folded, 3 minutes after the kill", now, total)
		}
		time.Sleep(10 * time.Millisecond)
	}
	all := time.Since(killed)
	n, last := log.seen()
	t.Logf("killed with %d of %d rows folded; the other worker took over %d messages, %v after their lease, and was "+
		"done after %v, with %s of memory at the peak",
		done, total, n, last.Sub(killed)-lease, all, peakMemory(second.Process.Pid))
	if last.Sub(killed) > 2*(lease+5*time.Second) { // as much again for a slow machine
		t.Errorf("it has taken over %d messages, the last one %v after the kill", n, last.Sub(killed))
	}
	for _, window := range []string{"1m", "1h", "1d"} {
		if sum := f.counted("acme", window); sum != total {
			t.Errorf("the rollups of %s have %d rows of %d", window, sum, total)
		}
	}
}

// takeovers counts the messages in a worker's log that it took over.
type takeovers struct {
	mu   sync.Mutex
	n    int
	last time.Time
}

func (l *takeovers) seen() (int, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n, l.last
}

func (l *takeovers) Write(lines []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := bytes.Count(lines, []byte(`msg="message taken over"`)); n > 0 {
		l.n, l.last = l.n+n, time.Now()
	}
	return os.Stderr.Write(lines)
}

// peakMemory returns the peak resident memory of a process on Linux.
func peakMemory(pid int) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "unknown"
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

func TestCommandStoppedDuringItsStartHasNotFailed(t *testing.T) {
	f := newFixture(t)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, command := range []string{"worker", "schedule"} {
		if code, _, errs := furrow(stopped, command, "--storage", f.storage); code != exitOK {
			t.Errorf("%s: exit %d, %s", command, code, errs)
		}
	}
}
