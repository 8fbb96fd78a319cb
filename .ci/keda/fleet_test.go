package keda

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A fleet is embedded storage with devices, and the processes that work on it.
type fleet struct {
	dir, binary string
	environment []string
	workers     []*exec.Cmd
}

// newFleet has furrow storage serve a directory, with the configuration in furrow.yaml.
func newFleet(t *testing.T, config string) *fleet {
	t.Helper()
	f := &fleet{dir: t.TempDir()}
	f.binary = f.path("furrow")
	build := exec.Command("go", "build", "-o", f.binary, "./cmd/furrow")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f.environment = append(os.Environ(), "FURROW_STORAGE="+f.path("data"), "FURROW_CONFIG="+f.path("furrow.yaml"),
		"FURROW_MASTER_KEY=MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
	if err := os.WriteFile(f.path("furrow.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	f.start(t, "storage", "--data", f.path("data"), "--listen", "127.0.0.1:0")
	await(t, "storage", func() bool { _, err := os.Stat(f.path("data/connection")); return err == nil })
	f.furrow(t, "enrollment", "add", "plant1", "--tenant", "contoso")
	return f
}

// connection returns the connection string of the storage, with its key.
func (f *fleet) connection(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(f.path("data/connection"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// furrow runs a command to its end, and returns what it prints.
func (f *fleet) furrow(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(f.binary, args...)
	cmd.Env, cmd.Dir = f.environment, f.dir
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("furrow %s: %v: %s%s", strings.Join(args, " "), err, out, &errs)
	}
	return string(out)
}

// start starts a process that the end of the test stops. What it logs is in a file of its name.
func (f *fleet) start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(f.binary, args...)
	cmd.Env, cmd.Dir = f.environment, f.dir
	log, err := os.OpenFile(f.path(args[0]+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// grace is how long Kubernetes waits for a worker that it stops.
const grace = 60 * time.Second

// scale starts or stops workers until there are n. A stopped one has to give its jobs back and end well.
func (f *fleet) scale(t *testing.T, n int) {
	t.Helper()
	for len(f.workers) < n {
		f.workers = append(f.workers, f.start(t, "worker", "--jobs", strconv.Itoa(jobs)))
	}
	for len(f.workers) > n {
		last := f.workers[len(f.workers)-1]
		f.workers = f.workers[:len(f.workers)-1]
		if err := last.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- last.Wait() }()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("a worker that was scaled in: %v", err)
			}
		case <-time.After(grace):
			t.Fatalf("a worker that was scaled in runs for %v", grace)
		}
	}
}

// fill registers devices with one reading each, and returns when storage has all of them.
func (f *fleet) fill(t *testing.T, devices int) {
	t.Helper()
	file, err := os.Create(f.path("backlog.csv"))
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(file)
	fmt.Fprintln(w, "device,time,temperature")
	at := time.Now().UTC().Add(-2 * time.Hour)
	for i := range devices {
		fmt.Fprintf(w, "pump-%06d,%s,%d\n", i, at.Format(time.RFC3339), i)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	f.furrow(t, "import", file.Name(), "--enrollment", "plant1")
}

// metrics returns the address of the scheduler's metrics.
func (f *fleet) metrics(t *testing.T) (url string) {
	t.Helper()
	await(t, "the scheduler's metrics", func() bool {
		log, _ := os.ReadFile(f.path("schedule.log"))
		if at := regexp.MustCompile(`msg="metrics served" url=(\S+)/metrics`).FindSubmatch(log); at != nil {
			url = string(at[1])
		}
		return url != ""
	})
	return url
}

// wantAllFolded compares what the workers have made of the backlog with what was imported.
func (f *fleet) wantAllFolded(t *testing.T, devices int) {
	t.Helper()
	var status struct{ Rows, Rejects, Held, Failing, Poison, Queue, Catchup int }
	if err := json.Unmarshal([]byte(f.furrow(t, "status", "--json")), &status); err != nil {
		t.Fatal(err)
	}
	if status.Rejects+status.Held+status.Failing+status.Poison+status.Queue+status.Catchup > 0 {
		t.Errorf("%d devices with a row each, and the status is %+v", devices, status)
	}
	// Figures lack what was done by a job whose lease was lost after its commit. The outputs lack nothing.
	t.Logf("%d of %d rows are in the figures", status.Rows, devices)
	seen := map[string]bool{}
	rollups := f.furrow(t, "query", "--tenant", "contoso", "--window", "1d", "--last", "2d", "--json")
	for line := range strings.Lines(rollups) {
		var bucket struct {
			Device  string
			Sensors map[string]struct {
				Count int
				Sum   float64
			}
		}
		if err := json.Unmarshal([]byte(line), &bucket); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		is := bucket.Sensors["temperature"]
		if bucket.Device != fmt.Sprintf("pump-%06.0f", is.Sum) || is.Count != 1 || seen[bucket.Device] {
			t.Errorf("wrong bucket: %s", line)
		}
		seen[bucket.Device] = true
	}
	if len(seen) != devices {
		t.Errorf("%d devices have a bucket; want %d", len(seen), devices)
	}
}

func await(t *testing.T, what string, met func() bool) {
	t.Helper()
	for range 600 {
		if met() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}
