package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// A running is a command that listens in this process, and the screen that it printed.
type running[S any] struct {
	said   S
	stop   context.CancelFunc
	exit   chan int
	stderr *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs a command with --json until the test ends. It returns once the command listens.
func start[S any](t *testing.T, stdin io.Reader, line string, args ...string) *running[S] {
	t.Helper()
	return startIn[S](t.Context(), t, stdin, line, args...)
}

func startIn[S any](ctx context.Context, t *testing.T, stdin io.Reader, line string, args ...string) *running[S] {
	t.Helper()
	ctx, stop := context.WithCancel(ctx)
	r := &running[S]{stop: stop, exit: make(chan int, 1), stderr: &lockedBuffer{}}
	out, stdout := io.Pipe()
	args = append(append([]string{"furrow"}, strings.Fields(line)...), append(args, "--json")...)
	go func() {
		code := run(ctx, args, stdin, stdout, r.stderr)
		stdout.Close()
		r.exit <- code
	}()
	said, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("%q: %v, %s", args, err, r.stderr)
	}
	must(t, json.Unmarshal(said, &r.said))
	t.Cleanup(stop)
	return r
}

func startStorage(t *testing.T, args ...string) *running[storageScreen] {
	t.Helper()
	return start[storageScreen](t, nil, "storage --listen 127.0.0.1:0", args...)
}

func startEndpoint(t *testing.T, args ...string) *running[tokenScreen] {
	t.Helper()
	return start[tokenScreen](t, nil, "sas --verbose --listen 127.0.0.1:0", args...)
}

func startDashboard(t *testing.T, args ...string) *running[dashboardScreen] {
	t.Helper()
	return start[dashboardScreen](t, nil, "dashboard --listen 127.0.0.1:0", args...)
}

func startUp(t *testing.T, args ...string) *running[upScreen] {
	t.Helper()
	return startUpIn(t.Context(), t, args...)
}

func startUpIn(ctx context.Context, t *testing.T, args ...string) *running[upScreen] {
	t.Helper()
	return startIn[upScreen](ctx, t, nil, "up --listen 127.0.0.1:0 --storage-port 0 --dashboard 127.0.0.1:0", args...)
}

// mustEnd stops the command as Ctrl-C does.
func (r *running[S]) mustEnd(t *testing.T) {
	t.Helper()
	r.stop()
	if code := <-r.exit; code != exitOK {
		t.Errorf("exit %d when it was told to stop: %s", code, r.stderr)
	}
}

// startProcess runs the program in a process of its own, and kills it when the test ends. Commands that
// run at the same time need one: parsing two command lines at once is a race in the cli package.
func startProcess(t *testing.T, out, errs io.Writer, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(append(os.Environ(), asFurrow+"=1"), env...), out, errs
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it may have ended already
	return cmd
}

func startWorker(t *testing.T, log io.Writer, args ...string) *exec.Cmd {
	t.Helper()
	return startProcess(t, nil, log, nil, append([]string{"worker"}, args...)...)
}

// await waits until is returns true. If that takes too long, it prints what, which may be a log.
func await(t *testing.T, what any, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("waited two minutes: %v", what)
		}
	}
}

// awayFromMidnight waits while a day of UTC ends within a minute, or has begun two minutes ago at most, so that the
// days and months that a test expects stay the same while it runs. The readings that it is about are so old.
func awayFromMidnight(old time.Duration) {
	const before, after = time.Minute, 2 * time.Minute
	of := time.Now().UTC().Add(-old)
	time.Sleep(after - of.Sub(of.Add(before).Truncate(24*time.Hour)))
}

// clientTrusting returns a client that trusts an authority.
func clientTrusting(t *testing.T, caFile string) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(text(t, caFile)))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// get returns the body of a successful response. The token may be empty.
func get(t *testing.T, client *http.Client, url, token string) string {
	t.Helper()
	status, body := ask(t, client, url, token)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", url, status, body)
	}
	return body
}

// ask requests url, with a bearer token unless that is empty.
func ask(t *testing.T, client *http.Client, url, token string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w, err := client.Do(r)
	must(t, err)
	defer w.Body.Close()
	all, err := io.ReadAll(w.Body)
	must(t, err)
	return w.StatusCode, string(all)
}

// paste runs lines in a shell, which must succeed.
func paste(t *testing.T, lines string) string {
	t.Helper()
	needTools(t)
	shell := exec.CommandContext(t.Context(), "sh", "-u", "-s")
	shell.Stdin = strings.NewReader(lines)
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\nafter\n%s", err, out, lines)
	}
	return string(out)
}

// needTools skips a test on a machine without the tools that a device's script needs.
func needTools(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"sh", "curl", "openssl", "sed", "date"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not on this machine", tool)
		}
	}
}
