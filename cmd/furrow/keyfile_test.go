package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestAccountKeyIsReplacedWithoutARestart gives a worker and an endpoint a wrong key and then the right one again.
func TestAccountKeyIsReplacedWithoutARestart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.must("enrollment add plant1 --tenant contoso")
	right := strings.TrimSpace(text(t, filepath.Join(f.storage, "connection")))
	wrong := regexp.MustCompile(`AccountKey=[^;]*`).ReplaceAllString(right, "AccountKey=d3Jvbmc=")
	file := filepath.Join(t.TempDir(), "account")
	put := func(connection string) {
		t.Helper()
		writeFile(t, file+".new", connection+"\n")
		must(t, os.Rename(file+".new", file))
	}
	put(right)
	master := []string{"FURROW_MASTER_KEY=" + strings.TrimSpace(text(t, filepath.Join(f.storage, "master.key")))}
	worker, endpoint, screen := &lockedBuffer{}, &lockedBuffer{}, &lockedBuffer{}
	startProcess(t, nil, worker, nil, "worker", "--storage", "file:"+file)
	startProcess(t, screen, endpoint, master, "sas", "--listen", "127.0.0.1:0", "--storage", "file:"+file)
	await(t, worker, func() bool { return strings.Contains(worker.String(), "worker started") })
	await(t, endpoint, func() bool { return strings.Contains(screen.String(), "127.0.0.1") }) // it has read the file
	changes := func(n int) func() bool {
		return func() bool {
			return strings.Count(worker.String(), "account key changed") == n &&
				strings.Count(endpoint.String(), "tokens of the former key end") == n
		}
	}
	put(strings.Replace(right, "AccountName=furrow", "AccountName=another", 1))
	await(t, worker, func() bool { return strings.Contains(worker.String(), "another account, or other services") })
	put(wrong)
	await(t, endpoint, changes(1))
	await(t, worker, func() bool { return strings.Contains(worker.String(), "AuthenticationFailed") })
	put(right)
	await(t, worker, changes(2))
	backlog := filepath.Join(t.TempDir(), "backlog.csv")
	writeFile(t, backlog, "device,time,temperature\npump-7,"+
		time.Now().UTC().Add(-2*time.Hour).Format(time.RFC3339)+",21.5\n")
	f.must("import --enrollment plant1", backlog)
	f.must("schedule --once")
	await(t, worker, func() bool { return strings.Contains(f.must("query pump-7 --latest --json"), "21.5") })
	if log := worker.String() + endpoint.String(); strings.Contains(log, "d3Jvbmc") {
		t.Errorf("a log has the key:\n%s", log)
	}
}
