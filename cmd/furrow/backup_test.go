package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"furrow/sas"
	"furrow/tables"
)

// TestRestoredFleetGoesOnAndEndsAllTokens takes backups of a directory that is served, and of one that is not. A token
// from before the backup, whose device was revoked afterwards, does not work in what is restored.
func TestRestoredFleetGoesOnAndEndsAllTokens(t *testing.T) {
	dir, saved := t.TempDir(), t.TempDir()
	u := startUp(t, "--storage", dir, "--no-worker", "--no-dashboard")
	f := fixtureIn(t, dir)
	f.must("enrollment add plant1 --tenant contoso")
	f.must("device add pump-7")
	f.must("device add pump-8")
	token := jsonOf[sas.Answer](t, f.must("token pump-7 --json"))[0]
	if got := f.write(token, token.URL); got != http.StatusNoContent {
		t.Fatalf("the token does not work: %d", got)
	}
	line := jsonOf[backupLine](t, f.must("backup --json", filepath.Join(saved, "served")))[0]
	if !line.MasterKey || line.Files < 5 || time.Since(line.Taken) > time.Minute {
		t.Errorf("the backup is %+v", line)
	}
	elsewhere := filepath.Join(dir, "connection") // which another machine has alone
	fetched := jsonOf[backupLine](t, f.must("backup --json", "--storage", "file:"+elsewhere,
		filepath.Join(saved, "fetched")))[0]
	if fetched.MasterKey || fetched.Files < 5 {
		t.Errorf("the backup of another machine's storage is %+v", fetched)
	}
	f.must("device revoke pump-7")
	f.must("device move pump-8 --tenant fabrikam")
	f.refused(anyFailure, "exists already", "backup", filepath.Join(saved, "served"))
	u.mustEnd(t)
	if _, errs := f.both("backup", filepath.Join(saved, "unserved")); errs != "" {
		t.Error(errs)
	}

	to := filepath.Join(t.TempDir(), "restored")
	out := f.must("restore --storage", to, filepath.Join(saved, "served"))
	for _, want := range []string{"All tokens for 1 readings table ended", "device revoke", "device move",
		line.Taken.Format(time.RFC3339), "furrow up --storage '" + to + "'"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	f.refused(anyFailure, "overwrites nothing", "restore --storage", to, filepath.Join(saved, "served"))
	u = startUp(t, "--storage", to, "--no-dashboard")
	f = fixtureIn(t, to)
	if out := f.must("device show pump-7"); !strings.Contains(out, "active") {
		t.Errorf("the backup was taken before the revocation: %s", out)
	}
	if out := f.must("device show pump-8"); !strings.Contains(out, "of tenant contoso") {
		t.Errorf("the backup was taken before the move: %s", out)
	}
	old := u.said.Table + strings.TrimPrefix(token.URL, token.URL[:strings.LastIndex(token.URL, "/")])
	if got := f.write(token, old); got != http.StatusForbidden {
		t.Errorf("a token of the backup is answered with %d", got)
	}
	fresh := jsonOf[sas.Answer](t, f.must("token pump-7 --json"))[0] // with the master key of the backup
	if got := f.write(fresh, fresh.URL); got != http.StatusNoContent {
		t.Errorf("a new token is answered with %d", got)
	}
	u.mustEnd(t)

	second := filepath.Join(t.TempDir(), "restored")
	f.must("restore --storage", second, filepath.Join(saved, "unserved"))
	startStorage(t, "--data", second)
	f = fixtureIn(t, second)
	if out := f.must("device show pump-7"); !strings.Contains(out, "revoked") {
		t.Errorf("the backup was taken after the revocation: %s", out)
	}
}

// write sends a reading with a token, and returns the status.
func (f *fixture) write(token sas.Answer, url string) int {
	f.t.Helper()
	body := fmt.Sprintf(`{"PartitionKey":%q,"RowKey":%q,"temperature":21.5}`, token.PartitionKey,
		tables.TicksOf(time.Now()))
	return post(f.t, url+"?"+token.SAS, []byte(body), http.Header{"Prefer": {"return-no-content"},
		"Accept": {"application/json"}}, nil) // Azurite has no default
}

func TestUpWritesBackupsAndKeepsTheLast(t *testing.T) {
	dir, saved := t.TempDir(), t.TempDir()
	must(t, os.MkdirAll(filepath.Join(saved, "furrow-20261122T100000Z", "db"), 0o700)) // of a process that was killed
	u := startUp(t, "--storage", dir, "--no-dashboard", "--backup-to", saved)
	names := func() (names []string) {
		all, err := os.ReadDir(saved)
		must(t, err)
		for _, d := range all {
			if _, err := os.Stat(filepath.Join(saved, d.Name(), "manifest.json")); err == nil {
				names = append(names, d.Name())
			}
		}
		return names
	}
	await(t, "a backup", func() bool { return len(names()) == 1 })
	await(t, "the other one to be gone", func() bool {
		all, err := os.ReadDir(saved)
		must(t, err)
		return len(all) == 1
	})
	u.mustEnd(t)
	if strings.Contains(u.stderr.String(), "backup failed") { // the master key is of this start, too
		t.Error(u.stderr)
	}
	before := names()
	u = startUp(t, "--storage", dir, "--no-dashboard", "--backup-to", saved) // the next is due in four hours
	u.mustEnd(t)
	if got := names(); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("after a restart there are %v, not %v", got, before)
	}
	f := &fixture{t: t, storage: filepath.Join(t.TempDir(), "restored")}
	f.must("restore", filepath.Join(saved, before[0]))
}

// TestBackupIsDueThoughAClockWasAhead: the newest one seems to be of a year that is far away.
func TestBackupIsDueThoughAClockWasAhead(t *testing.T) {
	dir, saved := t.TempDir(), t.TempDir()
	startStorage(t, "--data", dir)
	f := fixtureIn(t, dir)
	f.must("backup", filepath.Join(saved, "furrow-29990101T000000Z"))
	b := &backups{folder: saved, every: 4 * time.Hour, log: slog.New(slog.DiscardHandler),
		taken: prometheus.NewGauge(prometheus.GaugeOpts{Name: "taken"})}
	if due := b.first(t.Context()); due.After(time.Now()) {
		t.Errorf("the next backup is due at %v", due)
	}
}

func TestBackupErrorsSayWhatToDo(t *testing.T) {
	dir, empty := t.TempDir(), t.TempDir()
	for line, want := range map[string]string{
		"backup":                            "name the DIR: furrow backup DIR",
		"backup a b":                        "too many: furrow backup DIR",
		"restore":                           "name the DIR",
		"restore " + empty:                  "not a complete backup",
		"restore /no/where":                 "there is no such directory",
		"backup /tmp/x --storage " + empty:  "not a storage directory",
		"backup /tmp/x --storage /no/where": "no storage serves it",
		"restore /tmp/x --storage https://contoso.table.core.windows.net":    "the directory to make",
		"backup " + dir + "/tls/b --storage " + dir:                          "is in the storage directory",
		"up --backup-to " + dir + "/b --storage " + dir:                      "is in the storage directory",
		"up --backup-to " + dir + " --storage " + dir:                        "is in the storage directory",
		"up --backup-to /b --storage https://contoso.table.core.windows.net": "for a storage directory",
		"up --backup-to /b --backup-keep 0 --storage " + empty:               "--backup-keep is 0",
		"up --backup-to /b --backup-every 5s --storage " + empty:             "at least",
	} {
		refused(t, anyFailure, want, line)
	}
}
