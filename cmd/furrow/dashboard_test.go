package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDashboardAgreesWithDeviceShow compares the JSON of both.
func TestDashboardAgreesWithDeviceShow(t *testing.T) {
	f := newFixture(t)
	d := startDashboard(t, "--storage", f.storage)
	f.must("enrollment add plant1 --tenant acme --site hall")
	file := filepath.Join(t.TempDir(), "factory.csv")
	writeFile(t, file, "id,site,lat,lon,label.model\npump-7,hall,48.1,11.5,p7\n")
	f.must("device import", file)
	want := jsonOf[map[string]any](t, f.must("device show pump-7 --json"))[0]
	var got struct{ Device map[string]any }
	must(t, json.Unmarshal([]byte(get(t, http.DefaultClient, d.said.Dashboard+"v1/devices/pump-7", "")), &got))
	if a, b := jsonText(t, got.Device), jsonText(t, want); a != b {
		t.Errorf("the dashboard shows %s, and furrow device show %s", a, b)
	}
	if page := get(t, http.DefaultClient, d.said.Dashboard+"devices/pump-7", ""); !strings.Contains(page, "pump-7") {
		t.Errorf("the page is %s", page)
	}
	for _, limit := range jsonOf[pipelineStatus](t, f.must("status --json --pipeline live"))[0].Limits {
		if page := get(t, http.DefaultClient, d.said.Dashboard+"limits", ""); !strings.Contains(page, limit.What[1:]) {
			t.Errorf("Limits lacks %s, which furrow status has: %s", limit.What, page)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(f.storage, "tls")); len(files) > 0 {
		t.Error("it creates certificates without being asked to")
	}
	d.mustEnd(t)
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	must(t, err)
	return string(text)
}

func TestDashboardBeyondThisMachineNeedsTLS(t *testing.T) {
	f, dir := newFixture(t), t.TempDir()
	secret, open, empty := filepath.Join(dir, "secret"), filepath.Join(dir, "open"), filepath.Join(dir, "empty")
	writeFile(t, secret, "battery staple\n")
	writeFile(t, open, "battery staple\n")
	must(t, os.Chmod(open, 0o644))
	writeFile(t, empty, "")
	for line, want := range map[string]string{
		"--listen 0.0.0.0:0":                                       "intercepted",
		"--listen 127.0.0.1:0 --trust-header X-User":               "needs --trust-proxy",
		"--listen 127.0.0.1:0 --trust-header X --trust-proxy gate": "no address",
		"--listen [::]:0 --token-file " + secret:                   "intercepted",
		"--listen 127.0.0.1:0 --password-file " + open:             "chmod 600",
		"--listen 127.0.0.1:0 --password-file " + empty:            "is empty",
		"--listen 127.0.0.1:0 --password-file /no/file":            "/no/file",
		"--listen nowhere":                                         "--listen",
		"--listen 127.0.0.1:0 --tls sometimes":                     "--tls is",
		"--listen 127.0.0.1:0 --pipeline none":                     "--pipeline",
		"--listen 127.0.0.1:0 --config /nowhere.yaml":              "/nowhere.yaml",
		"--listen 127.0.0.1:0 --storage /no/directory":             "start it with furrow up",
		"--listen 127.0.0.1:0 --tiles https://host/":               "--tiles: write the address",
	} {
		if errs := f.refused(anyFailure, want, "dashboard "+line); strings.Contains(errs, "battery") {
			t.Errorf("dashboard %s shows the secret: %s", line, errs)
		}
	}
	t.Setenv(passwordVariable, "short")
	f.refused(anyFailure, "too short", "dashboard --listen 127.0.0.1:0")
}

// TestDashboardBeyondThisMachineRequiresSigningIn gives access while the dashboard runs.
func TestDashboardBeyondThisMachineRequiresSigningIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	d := startDashboard(t, "--storage", f.storage, "--listen", "0.0.0.0:0", "--tls", "self-signed")
	client := clientTrusting(t, d.said.TLS.CAFile)
	w, err := client.Get(d.said.Dashboard + "v1/map")
	must(t, err)
	w.Body.Close()
	if w.StatusCode != http.StatusUnauthorized {
		t.Errorf("before anybody has access: %s", w.Status)
	}
	token := strings.TrimSpace(f.must("access add wall --role=viewer --tenant=contoso"))
	await(t, "it looks for new tokens", func() bool {
		status, _ := ask(t, client, d.said.Dashboard+"v1/map", token)
		return status == http.StatusOK
	})
	if body := get(t, client, d.said.Dashboard+"v1/map", token); !strings.Contains(body, `"total":0`) {
		t.Errorf("the map is %s", body)
	}
	client.CloseIdleConnections()
	d.mustEnd(t)
}

func TestDashboardOverTLSTakesAToken(t *testing.T) {
	f, secret := newFixture(t), filepath.Join(t.TempDir(), "secret")
	writeFile(t, secret, "battery staple\n")
	d := startDashboard(t, "--storage", f.storage, "--listen", "0.0.0.0:0", "--tls", "self-signed", "--token-file", secret)
	client := clientTrusting(t, d.said.TLS.CAFile)
	if body := get(t, client, d.said.Dashboard+"v1/map", "battery staple"); !strings.Contains(body, `"total":0`) {
		t.Errorf("the map is %s", body)
	}
	w, err := client.Get(d.said.Dashboard + "v1/map")
	must(t, err)
	w.Body.Close()
	if w.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %s", w.Status)
	}
	client.CloseIdleConnections()
	d.mustEnd(t)
}

func TestUpHasADashboardUnlessToldOtherwise(t *testing.T) {
	u := startUp(t, "--storage", t.TempDir(), "--no-worker")
	if body := get(t, http.DefaultClient, u.said.Dashboard+"healthz", ""); !strings.Contains(body, "alive") {
		t.Error(body)
	}
	http.DefaultClient.CloseIdleConnections()
	u.mustEnd(t)
	u = startUp(t, "--storage", t.TempDir(), "--no-worker", "--no-dashboard")
	if u.said.Dashboard != "" {
		t.Errorf("the dashboard is at %q", u.said.Dashboard)
	}
	u.mustEnd(t)
	refused(t, exitUsage, "--dashboard 0.0.0.0:0 can be reached", "up --listen 127.0.0.1:0 --storage-port 0 "+
		"--dashboard 0.0.0.0:0 --storage", t.TempDir())
}
