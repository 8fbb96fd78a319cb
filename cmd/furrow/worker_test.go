package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

var (
	killDevices = flag.Int("worker.devices", 40, "how many devices TestKilledWorkerLosesNothing has")
	killRows    = flag.Int("worker.rows", 300, "how many rows each of them has")
)

// seedFleet gives devices rows one second apart, of months 2026-09 to 2026-11,
// the last ones a minute ago.
func seedFleet(t *testing.T, client *tables.Client, devices, rows int) {
	t.Helper()
	names := schema.Names{}
	for _, name := range []string{names.Readings(), names.Fleet()} {
		if err := client.Table(name).Create(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now().Add(-time.Minute - time.Duration(rows)*time.Second)
	for d := range devices {
		id := schema.DeviceID(fmt.Sprintf("acme:d%04d", d))
		m := schema.Member{Month: schema.Month{Year: 2026, Month: time.Month(9 + d%3)}, Device: id, Tenant: "acme",
			Readings: names.Readings()}
		e, err := m.Entity()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Table(names.Fleet()).Do(t.Context(), tables.Insert(e)); err != nil {
			t.Fatal(err)
		}
		var ops []tables.Op
		for n := range rows {
			r := tables.Entity{PartitionKey: string(id),
				RowKey: tables.TicksOf(start.Add(time.Duration(n) * time.Second)).String()}
			r.Set("temperature", tables.Double(float64(n)))
			ops = append(ops, tables.Insert(r))
		}
		groups, err := tables.Cut(ops)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			if _, err := client.Table(names.Readings()).Submit(t.Context(), g); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// folded is how many rows the tracking rows say are folded.
func folded(t *testing.T, client *tables.Client) (rows int) {
	t.Helper()
	for page, err := range client.Table(schema.Names{}.Partitions("live")).Rows(t.Context(),
		tables.Query{Select: []string{"Rows"}}) {
		if err != nil {
			return 0 // the worker has not made it yet
		}
		for i := range page.Rows {
			rows += int(page.Rows[i].Get("Rows").Int())
		}
	}
	return rows
}

// startWorker is a worker in a process of its own.
func startWorker(t *testing.T, log io.Writer, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"worker"}, args...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), asFurrow+"=1"), log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() }) // it has ended already, unless the test failed
	return cmd
}

// TestKilledWorkerLosesNothing kills a worker process amid its work. Another one
// takes over when the lease is over, and each row is in each rollup once.
func TestKilledWorkerLosesNothing(t *testing.T) {
	const lease = 5 * time.Second
	dir := t.TempDir()
	s := startStorage(t, nil, "--data", dir, "--show-key")
	account, err := tables.ParseAccount(s.ConnectionString)
	if err != nil {
		t.Fatal(err)
	}
	client, err := tables.Connect(tables.Config{Account: account})
	if err != nil {
		t.Fatal(err)
	}
	seedFleet(t, client, *killDevices, *killRows)
	total := *killDevices * *killRows
	if code, out, errs := furrow(t.Context(), "schedule", "--once", "--pipeline", "live", "--storage",
		dir); code != exitOK || !strings.Contains(out, "enqueued") {
		t.Fatalf("schedule: exit %d, %s%s", code, out, errs)
	}
	// The other worker is there all the time, and has free places.
	args := []string{"--storage", dir, "--pipeline", "live", "--lease", lease.String(), "--jobs"}
	first := startWorker(t, os.Stderr, append(args, "2")...)
	for folded(t, client) == 0 {
		time.Sleep(time.Millisecond)
	}
	var log takeovers
	second := startWorker(t, &log, append(args, "16")...)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Wait()
	killed, done := time.Now(), folded(t, client)
	if done == total {
		t.Skip("the worker had done everything before it was killed")
	}
	for now := done; now < total; now = folded(t, client) {
		if time.Since(killed) > 3*time.Minute {
			t.Fatalf("%d of %d rows are folded, 3 minutes after the kill", now, total)
		}
		time.Sleep(10 * time.Millisecond)
	}
	all := time.Since(killed)
	n, last := log.seen()
	t.Logf("killed with %d of %d rows folded; the other worker had %d messages of it %v after their lease, and was done "+
		"after %v, with %s of memory at the peak",
		done, total, n, last.Sub(killed)-lease, all, peakMemory(second.Process.Pid))
	if last.Sub(killed) > 2*(lease+5*time.Second) { // as much again for a slow machine
		t.Errorf("it has taken over %d messages, the last one %v after the kill", n, last.Sub(killed))
	}
	checkCounts(t, dir, total)
}

// takeovers are the lines of a worker's log about messages that it has taken over.
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

// peakMemory is what Linux knows of a process.
func peakMemory(pid int) string {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return "nobody knows how much"
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// checkCounts sums up what query prints of each rollup size.
func checkCounts(t *testing.T, dir string, total int) {
	t.Helper()
	for _, window := range []string{"1m", "1h", "1d"} {
		code, out, errs := furrow(t.Context(), "query", "--tenant", "acme", "--window", window, "--last", "3d", "--format",
			"csv", "--storage", dir)
		if code != exitOK {
			t.Fatalf("query: exit %d, %s", code, errs)
		}
		lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, line := range lines[1:] {
			n, err := strconv.Atoi(line[3])
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if sum != total {
			t.Errorf("the rollups of %s have %d rows of %d", window, sum, total)
		}
	}
}

func TestWhatIsStoppedWhileItStartsHasNotFailed(t *testing.T) {
	dir := t.TempDir()
	startStorage(t, nil, "--data", dir)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, command := range []string{"worker", "schedule"} {
		if code, _, errs := furrow(stopped, command, "--storage", dir); code != exitOK {
			t.Errorf("%s: exit %d, %s", command, code, errs)
		}
	}
}
