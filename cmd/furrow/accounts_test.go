package main

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/tables/schema"
)

// TestSeveralAccountsShowOneFleet has a tenant with devices in two accounts. A third one cannot be reached.
func TestSeveralAccountsShowOneFleet(t *testing.T) {
	t.Parallel()
	accounts := map[string][]schema.DeviceID{"contoso:": {"contoso:a", "contoso:b"}, "fabrikam:": {"fabrikam:c"}}
	where := map[string]string{}
	for prefix, devices := range accounts {
		f := newFixture(t)
		f.createTables()
		for _, d := range devices {
			f.add(newDevice(d, "acme", 2026, 11), reading(d, time.Now().Add(-time.Hour), 21), reading(d, time.Now(), 22))
		}
		f.fold()
		where[prefix] = f.storage
	}
	both := []string{"--storage", where["contoso:"], "--storage", where["fabrikam:"]}
	query := func(line string, storage ...string) (code int, out, errs string) {
		return furrow(t.Context(), append(strings.Fields(line), storage...)...)
	}
	devices := func(out string) (all []string) {
		for _, r := range csvRecords(t, out) {
			if id := r["device"]; !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
		return all
	}
	for line, want := range map[string]string{
		"query --tenant acme --latest --format csv":           "contoso:a contoso:b fabrikam:c",
		"query --tenant acme --latest --format csv --limit 2": "contoso:a contoso:b",
		"query --tenant acme --format csv --last 2h":          "contoso:a contoso:b fabrikam:c",
		"query --tenant acme --raw --format csv --last 2h":    "contoso:a contoso:b fabrikam:c",
		"query --prefix fabrikam: --latest --format csv":      "fabrikam:c",
		"query fabrikam:c --tail 1 --format csv":              "fabrikam:c",
		"query contoso:b --latest --format csv":               "contoso:b",
	} {
		code, out, errs := query(line, both...)
		if got := strings.Join(devices(out), " "); code != exitOK || got != want {
			t.Errorf("furrow %s: exit %d, %s; want %s; %s", line, code, got, want, errs)
		}
	}
	for line, says := range map[string]string{
		"query nobody --latest":                  "nobody",
		"query --tenant none --latest":           `no device belongs to tenant "none"`,
		"query --by tenant --window 1h":          "no reports are configured",
		"query contoso:a --storage " + both[1]:   "is repeated",
		"query --tenant acme --latest --limit 0": "--limit is 0",
	} {
		if code, _, errs := query(line, both...); code == exitOK || !strings.Contains(errs, says) {
			t.Errorf("furrow %s: exit %d, %s; want %q", line, code, errs, says)
		}
	}
	gone := append([]string{"--storage", t.TempDir()}, both...)
	code, out, errs := query("query --tenant acme --latest --format csv", gone...)
	if got := devices(out); code != exitFailed || len(got) != 3 || !strings.Contains(errs, "is left out: ") ||
		!strings.Contains(errs, "1 of 3 accounts could not be read") {
		t.Errorf("without one account: exit %d, %s; %s", code, got, errs)
	}
	_, out, _ = query("query contoso:a --tail 1 --format csv", both...)
	code, out, errs = query("query contoso:a --raw --format csv --row-key "+csvRecords(t, out)[0]["row"], gone...)
	if got := devices(out); code != exitFailed || len(got) != 1 || !strings.Contains(errs, "1 of 3 accounts") {
		t.Errorf("a row without one account: exit %d, %s; %s", code, got, errs)
	}
	code, out, errs = query("status --pipeline live --json", gone...)
	if found := jsonOf[pipelineStatus](t, out); code != exitFailed || len(found) != 2 || found[0].Storage != both[1] ||
		found[1].Storage != both[3] || !strings.Contains(errs, "is left out: ") {
		t.Errorf("status without one account: exit %d, %+v; %s", code, found, errs)
	}
}

// TestDashboardShowsAFleetInTwoAccounts starts it while one of them cannot be read.
func TestDashboardShowsAFleetInTwoAccounts(t *testing.T) {
	t.Parallel()
	first, second := newFixture(t), newObservedFixture(t)
	var away atomic.Bool
	second.refuses = func(*http.Request) bool { return away.Load() }
	for f, d := range map[*fixture]schema.DeviceID{first: "contoso:a", second: "fabrikam:b"} {
		f.createTables()
		f.add(newDevice(d, "acme", 2026, 11), reading(d, time.Now().Add(-time.Minute), 21))
		f.fold()
	}
	away.Store(true)
	d := startDashboard(t, "--storage", first.storage, "--storage", second.storage)
	shows := func(path, want string) {
		t.Helper()
		status, body := 0, "" // 503 while the account has only begun to answer
		for began := time.Now(); status != http.StatusOK || !strings.Contains(body, want); {
			time.Sleep(50 * time.Millisecond)
			status, body = ask(t, http.DefaultClient, d.said.Dashboard+path, "")
			if time.Since(began) > 2*time.Minute || status != http.StatusOK && status != http.StatusServiceUnavailable {
				t.Fatalf("/%s does not show %q: %d %s", path, want, status, body)
			}
		}
	}
	shows("v1/overview", `"devices":1,`)
	shows("devices", "storage accounts cannot be read: "+second.storage)
	away.Store(false)
	shows("v1/overview", `"devices":2,`)
	shows("v1/devices/fabrikam:b", `"pipeline":"live"`)
	shows("v1/pipelines", `"storage":"`+second.storage)
	d.mustEnd(t)
	refused(t, exitUsage, "--storage "+first.storage+" is repeated", "dashboard --listen 127.0.0.1:0 --storage "+
		first.storage, "--storage", first.storage)
}
