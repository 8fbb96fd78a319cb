package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A runningUp is an up command that has said where everything is.
type runningUp struct {
	running
	said upScreen
}

// startUp runs "furrow up --json" on free ports until the test ends.
func startUp(t *testing.T, args ...string) *runningUp {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	u := &runningUp{running: running{stop: stop, exit: make(chan int, 1), stderr: &lockedBuffer{}}}
	out, stdout := io.Pipe()
	line := append([]string{"furrow", "up", "--json", "--listen", "127.0.0.1:0", "--storage-port", "0", "--dashboard",
		"127.0.0.1:0"}, args...)
	go func() {
		code := run(ctx, line, nil, stdout, u.stderr)
		stdout.Close()
		u.exit <- code
	}()
	said, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v: %v, %s", line, err, u.stderr)
	}
	if err := json.Unmarshal(said, &u.said); err != nil {
		t.Fatalf("%s: %v", said, err)
	}
	t.Cleanup(stop)
	return u
}

// paste runs what a command prints in a shell.
func paste(t *testing.T, lines string) string {
	t.Helper()
	for _, tool := range []string{"sh", "curl", "openssl", "sed", "date"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not on this machine", tool)
		}
	}
	shell := exec.CommandContext(t.Context(), "sh")
	shell.Stdin = strings.NewReader(lines)
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\nafter\n%s", err, out, lines)
	}
	return string(out)
}

const everySecond = `pipelines:
  - name: live
    cadence: 1s
    settle: 1s
    processors: [latest, rollup: {windows: [1m]}]
`

// TestUpFoldsADevicesFirstReading is the tour of a new user, and what becomes of it
// after a stop and a start.
func TestUpFoldsADevicesFirstReading(t *testing.T) {
	dir, config := t.TempDir(), filepath.Join(t.TempDir(), "furrow.yaml")
	writeConfig(t, config, everySecond)
	y := &fleetFixture{dir: dir}
	u := startUp(t, "--storage", dir, "--config", config)
	y.furrow(t, "enrollment", "add", "plant1", "--tenant", "contoso")
	for i, device := range []string{"pump-7", "pump-8"} {
		lines, _ := y.furrow(t, "device", "add", device)
		if out := paste(t, lines); !strings.Contains(out, "storage responds 204") {
			t.Fatal(out)
		}
		folded := func() bool {
			out, _ := y.furrow(t, "query", device, "--latest")
			return strings.Contains(out, "temperature,21.5")
		}
		for began := time.Now(); !folded(); time.Sleep(50 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("after a minute %s is not in latest:\n%s", device, u.stderr)
			}
		}
		if u.mustEnd(t); i == 0 {
			u = startUp(t, "--storage", dir, "--config", config)
		}
	}
}

func TestUpOverTLSServesDevicesAndThisMachine(t *testing.T) {
	dir := t.TempDir()
	y := &fleetFixture{dir: dir}
	u := startUp(t, "--storage", dir, "--tls", "self-signed", "--no-worker")
	if !strings.HasPrefix(u.said.Endpoint, "https://") || !strings.HasPrefix(u.said.Table, "https://") ||
		!strings.HasPrefix(u.said.Storage, "http://127.0.0.1:") {
		t.Errorf("it says %+v", u.said)
	}
	y.furrow(t, "enrollment", "add", "plant1", "--tenant", "contoso")
	lines, _ := y.furrow(t, "device", "add", "pump-7")
	if out := paste(t, lines); !strings.Contains(out, "storage responds 204") {
		t.Error(out)
	}
	u.mustEnd(t)
}

func TestSecondUpSaysWhatIsInItsWay(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, "--storage", dir, "--no-worker")
	port := u.said.Endpoint[strings.LastIndex(u.said.Endpoint, ":")+1:]
	for want, args := range map[string][]string{
		"another process serves it: stop that one, or choose another directory with --storage": {"--listen", "127.0.0.1:0",
			"--storage-port", "0", "--storage", dir},
		"choose another port with --listen": {"--listen", "127.0.0.1:" +
			port, "--storage-port", "0", "--storage", t.TempDir()},
		"could be intercepted": {"--listen", "0.0.0.0:0",
			"--storage-port", "0", "--storage", t.TempDir()},
		"--public-url is": {"--public-url", "furrow",
			"--storage", t.TempDir()},
		"--jobs is 0": {"--jobs", "0", "--storage",
			t.TempDir()},
		"--storage-port is 70000": {"--storage-port", "70000",
			"--storage", t.TempDir()},
		"/nowhere.yaml": {"--config", "/nowhere.yaml",
			"--storage", t.TempDir()},
	} {
		if code, out, errs := furrow(t.Context(), append([]string{"up", "--no-dashboard"}, args...)...); code == exitOK ||
			!strings.Contains(errs, want) {
			t.Errorf("up %v: exit %d\n%s%s\nwant %q", args, code, out, errs, want)
		}
	}
}

// TestUpRunsOnAnAccountToo has another process serve the account.
func TestUpRunsOnAnAccountToo(t *testing.T) {
	t.Setenv("FURROW_MASTER_KEY", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	s := startStorage(t, nil, "--data", t.TempDir(), "--show-key")
	t.Setenv("FURROW_TEST_ACCOUNT", s.ConnectionString)
	t.Chdir(t.TempDir()) // where a directory of that name would be made
	u := startUp(t, "--storage", "env:FURROW_TEST_ACCOUNT")
	if u.said.Data != "" || u.said.Table != s.Table || u.said.MasterKey != "FURROW_MASTER_KEY" {
		t.Errorf("it says %+v", u.said)
	}
	if code, _, errs := furrow(t.Context(), "status", "--storage", s.ConnectionString); code != exitOK {
		t.Errorf("status: exit %d, %s", code, errs)
	}
	u.mustEnd(t)
}
