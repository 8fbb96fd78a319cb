package main

import (
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"furrow/tables"
)

const everySecond = "pipelines: [{name: live, cadence: 1s, settle: 1s, processors: [latest, rollup]}]\n"

// TestUpFoldsADevicesFirstReading follows a new user, and stops and starts the program in between.
func TestUpFoldsADevicesFirstReading(t *testing.T) {
	t.Parallel()
	dir, config := t.TempDir(), filepath.Join(t.TempDir(), "furrow.yaml")
	writeFile(t, config, everySecond)
	for i, device := range []string{"pump-7", "pump-8"} {
		u := startUp(t, "--storage", dir, "--config", config)
		f := fixtureIn(t, dir)
		if i == 0 {
			f.must("enrollment add plant1 --tenant contoso")
		}
		if out := paste(t, f.must("device add", device)); !strings.Contains(out, "storage responds 204") {
			t.Fatal(out)
		}
		await(t, device+" to be in latest", func() bool {
			return strings.Contains(f.must("query --latest", device), "temperature,21.5")
		})
		u.mustEnd(t)
	}
}

// TestUpNeedsNoConnectionToItsOwnStorage but for blobs: over one, runs take twice the processor time.
func TestUpNeedsNoConnectionToItsOwnStorage(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	connected := map[string]bool{}
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GetConn: func(address string) {
		mu.Lock()
		defer mu.Unlock()
		connected[address] = true
	}})
	dir, config := t.TempDir(), filepath.Join(t.TempDir(), "furrow.yaml")
	writeFile(t, config, everySecond)
	u := startUpIn(ctx, t, "--storage", dir, "--config", config)
	await(t, u.stderr, func() bool { return strings.Contains(u.stderr.String(), "run completed") })
	get(t, http.DefaultClient, u.said.Dashboard+"v1/pipelines", "")
	u.mustEnd(t)
	account, err := tables.ParseAccount(text(t, filepath.Join(dir, "connection")))
	must(t, err)
	for _, service := range []string{account.Table, account.Queue} {
		of, err := url.Parse(service)
		must(t, err)
		if connected[of.Host] {
			t.Errorf("it connects to %s, which it serves itself", service)
		}
	}
}

func TestUpOverTLSServesDevicesAndThisMachine(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, "--storage", dir, "--tls", "self-signed", "--no-worker")
	f := fixtureIn(t, dir)
	if !strings.HasPrefix(u.said.Endpoint, "https://") || !strings.HasPrefix(u.said.Table, "https://") ||
		!strings.HasPrefix(u.said.Storage, "http://127.0.0.1:") {
		t.Errorf("it prints %+v", u.said)
	}
	f.must("enrollment add plant1 --tenant contoso")
	if out := paste(t, f.must("device add pump-7")); !strings.Contains(out, "storage responds 204") {
		t.Error(out)
	}
	u.mustEnd(t)
}

// TestUpNotesThatStorageMayHaveAnotherPortToo where a proxy or a container's ports stand before the endpoint.
func TestUpNotesThatStorageMayHaveAnotherPortToo(t *testing.T) {
	for _, c := range []struct {
		flags []string
		notes bool
	}{
		{[]string{"--public-url", "https://furrow.example"}, true},
		{[]string{"--public-url", "https://furrow.example", "--table-url", "https://furrow.example/devices"}, false},
		{nil, false},
	} {
		dir := t.TempDir()
		u := startUp(t, append(c.flags, "--storage", dir, "--tls", "self-signed", "--no-worker", "--no-dashboard")...)
		u.mustEnd(t)
		if notes := strings.Contains(u.stderr.String(), "set --table-url"); notes != c.notes {
			t.Errorf("%q: it notes %t: %s", c.flags, notes, u.stderr)
		}
		if c.notes && !strings.HasPrefix(u.said.Table, "https://furrow.example:") {
			t.Errorf("devices are told to write to %s", u.said.Table)
		}
	}
}

func TestUpErrorsSayWhatToDo(t *testing.T) {
	dir := t.TempDir()
	u := startUp(t, "--storage", dir, "--no-worker")
	port := u.said.Endpoint[strings.LastIndex(u.said.Endpoint, ":")+1:]
	for flags, want := range map[string]string{
		"--storage-port 0 --storage " + dir: "another process serves it: stop that one, or choose another directory " +
			"with --storage",
		"--listen 127.0.0.1:" + port: "choose another port with --listen",
		"--listen 0.0.0.0:0":         "could be intercepted",
		"--public-url furrow":        "--public-url is",
		"--jobs 0":                   "--jobs is 0",
		"--storage-port 70000":       "--storage-port is 70000",
		"--config /nowhere.yaml":     "/nowhere.yaml",
	} {
		line := "up --no-dashboard " + flags
		if !strings.Contains(flags, "--listen") {
			line += " --listen 127.0.0.1:0"
		}
		if !strings.Contains(flags, "--storage ") {
			line += " --storage " + t.TempDir()
		}
		refused(t, anyFailure, want, line)
	}
	u.mustEnd(t)
}

// TestUpRunsOnAnAccount has another process serve the account.
func TestUpRunsOnAnAccount(t *testing.T) {
	t.Setenv("FURROW_MASTER_KEY", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	s := startStorage(t, "--data", t.TempDir(), "--show-key")
	t.Setenv("FURROW_TEST_ACCOUNT", s.said.ConnectionString)
	t.Chdir(t.TempDir()) // where a directory of that name would be created
	u := startUp(t, "--storage", "env:FURROW_TEST_ACCOUNT")
	if u.said.Data != "" || u.said.Table != s.said.Table || u.said.MasterKey != "FURROW_MASTER_KEY" {
		t.Errorf("it prints %+v", u.said)
	}
	code, out, errs := furrow(t.Context(), "status", "--storage", s.said.ConnectionString)
	if code != exitOK {
		t.Error(fmt.Sprint("status: ", code, out, errs))
	}
	u.mustEnd(t)
}
