package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"furrow/tables"
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

// A stalling proxy stands between one process and the tables of a fixture. It passes so many transactions on, and
// keeps all later requests until the test ends.
type stalling struct {
	connection string // a file
	stalled    chan struct{}
}

func newStalling(t *testing.T, f *fixture, transactions int64) *stalling {
	t.Helper()
	connection := text(t, filepath.Join(f.storage, "connection"))
	account, err := tables.ParseAccount(connection)
	must(t, err)
	target, err := url.Parse(account.Table)
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	s := &stalling{connection: filepath.Join(t.TempDir(), "connection"), stalled: make(chan struct{})}
	var n atomic.Int64
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/$batch") && n.Add(1) == transactions+1 {
			close(s.stalled)
		}
		if n.Load() > transactions {
			<-ended
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) })
	writeFile(t, s.connection, strings.Replace(connection, account.Table, server.URL+target.Path, 1))
	return s
}

// TestKilledWorkerLosesNothing kills a worker process in the middle of its writes. Another one takes over when the
// lease ends, and each row is in each rollup once.
func TestKilledWorkerLosesNothing(t *testing.T) {
	t.Parallel()
	const devices, rows, total = 20, 60, 20 * 60
	f := newFixture(t)
	f.seed(devices, rows)
	f.says("enqueued", "schedule --once --pipeline live")
	through := newStalling(t, f, 8)
	args := []string{"--pipeline", "live", "--lease", "3s", "--storage"}
	first := startWorker(t, os.Stderr, append(args, "file:"+through.connection)...)
	<-through.stalled
	must(t, first.Process.Kill())
	_ = first.Wait()
	if done := f.folded(); done == total {
		t.Fatal("the worker had done everything before it was killed")
	}
	log := &lockedBuffer{}
	startWorker(t, log, append(args, f.storage)...)
	await(t, log, func() bool { return f.folded() >= total })
	if !strings.Contains(log.String(), `msg="message taken over"`) {
		t.Errorf("nothing is taken over:\n%s", log)
	}
	for _, window := range []string{"15m", "1h", "1d"} {
		if sum := f.counted("acme", window); sum != total {
			t.Errorf("the rollups of %s have %d rows of %d", window, sum, total)
		}
	}
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
