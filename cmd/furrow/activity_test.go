package main

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"furrow/worker/answers"
)

// TestEveryChangeIsInTheActivityLog runs each command that changes something; a dry run is none.
func TestEveryChangeIsInTheActivityLog(t *testing.T) {
	f := newFoldedFixture(t)
	t.Setenv("FURROW_MASTER_KEY", "")
	dir := t.TempDir()
	devices := filepath.Join(dir, "devices.csv")
	site, other := filepath.Join(dir, "site.yaml"), filepath.Join(dir, "other.yaml")
	writeFile(t, devices, "id,site\npump-8,hall\n")
	for file, cadence := range map[string]string{site: "1m", other: "5m"} {
		writeFile(t, file, "pipelines:\n- name: live\n  cadence: "+cadence+"\n  processors: [latest, rollup]\n")
	}
	master := filepath.Join(dir, "master.key")
	t.Setenv("FURROW_MASTER_KEY_FILE", master)
	var want []string
	for _, c := range []struct{ line, what string }{
		{"enrollment add line4 --tenant acme", "enrollment add"},
		{"enrollment set line4 --life 2h", "enrollment set"},
		{"enrollment rotate line4 --yes", "enrollment rotate"},
		{"enrollment reseal", "enrollment reseal"},
		{"device add pump-7", "device add"},
		{"device import " + devices, "device import"},
		{"device import " + devices + " --dry-run", ""},
		{"device set pump-7 --site hall", "device set"},
		{"token pump-7", "token"},
		{"device revoke pump-7", "device revoke"},
		{"device restore pump-7", "device restore"},
		{"enrollment revoke line4 --yes", "enrollment revoke"},
		{"enrollment disable line4", "enrollment disable"},
		{"enrollment enable line4", "enrollment enable"},
		{"token revoke --all --yes", "token revoke"},
		{"config apply " + site, "config apply"},
		{"config apply " + other, "config apply"},
		{"config rollback 1", "config rollback"},
		{"rewind acme:d0000 --to -2d --dry-run", ""},
		{"rewind acme:d0000 --to -2d --pipeline live", "rewind"},
		{"jobs redrive --pipeline live", "jobs redrive"},
		{"jobs purge --pipeline live --yes", "jobs purge"},
		{"audit run --pipeline live", "audit run"},
		{"device remove pump-8 --yes", "device remove"},
	} {
		f.must(c.line)
		if c.what != "" {
			want = append(want, c.what)
		}
	}
	acts := jsonOf[answers.Act](t, f.must("activity --json"))
	slices.Reverse(acts)
	var got []string
	for _, a := range acts {
		if got = append(got, a.What); a.Who != operator() || a.From != "command" || a.Outcome == "" || a.Failed {
			t.Errorf("the log has %+v", a)
		}
		if about := strings.HasPrefix(a.What, "device") || a.What == "rewind"; about && a.Tenant != "acme" {
			t.Errorf("it is not about a tenant: %+v", a)
		}
		if a.What == "device set" && a.Detail != "--site hall" ||
			a.What == "enrollment set" && a.Detail != "line4 --life 2h" {
			t.Errorf("it does not say what was set: %+v", a)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the log has\n%q, want\n%q", got, want)
	}
}

// refusesActs makes storage refuse writes into the activity log, after it has taken some.
func (f *fixture) refusesActs(after int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuses = func(r *http.Request) bool {
		if r.Method == http.MethodGet || !strings.Contains(r.URL.Path, f.names.Activity()+"(") {
			return false
		}
		after--
		return after < 0
	}
}

// TestActsSayWhatHappenedWithoutTheActivityLog refuses the first write into the log, and then the second.
func TestActsSayWhatHappenedWithoutTheActivityLog(t *testing.T) {
	f := newObservedFixture(t)
	f.add(newDevice("acme:pump", "acme", 2026, 9))
	must(t, f.client.Table(f.names.Activity()).Create(t.Context()))
	f.refusesActs(0)
	f.refused(exitFailed, "nothing was done, because the activity log cannot be written", "device revoke acme:pump")
	if text := f.must("device show acme:pump"); !strings.Contains(text, "active") {
		t.Errorf("without the log the device is %s", text)
	}
	f.refusesActs(1)
	code, out, errs := f.run("device revoke acme:pump")
	if code != exitFailed || !strings.Contains(out, "acme:pump is revoked") || !strings.Contains(errs,
		"it is done, but the activity log does not have the outcome") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if text := f.must("device show acme:pump"); !strings.Contains(text, "revoked") {
		t.Errorf("afterwards the device is %s", text)
	}
	if acts := jsonOf[answers.Act](t, f.must("activity --json")); len(acts) != 1 || acts[0].Outcome != "" {
		t.Errorf("the log has %+v", acts)
	}
}
