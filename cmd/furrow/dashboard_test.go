package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A runningDashboard is a dashboard command that has said where it listens.
type runningDashboard struct {
	running
	said windowScreen
}

func startDashboard(t *testing.T, args ...string) *runningDashboard {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	d := &runningDashboard{running: running{stop: stop, exit: make(chan int, 1), stderr: &lockedBuffer{}}}
	out, stdout := io.Pipe()
	line := append([]string{"furrow", "dashboard", "--json", "--listen", "127.0.0.1:0"}, args...)
	go func() {
		code := run(ctx, line, nil, stdout, d.stderr)
		stdout.Close()
		d.exit <- code
	}()
	said, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v: %v, %s", line, err, d.stderr)
	}
	must(t, json.Unmarshal(said, &d.said))
	t.Cleanup(stop)
	return d
}

// get is the body of an answer with 200, asked for with a token where there is one.
func get(t *testing.T, client *http.Client, url, token string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	must(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w, err := client.Do(r)
	must(t, err)
	defer w.Body.Close()
	body, err := io.ReadAll(w.Body)
	must(t, err)
	if w.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s", url, w.Status, body)
	}
	return string(body)
}

// TestDashboardShowsWhatQueriesTell compares its JSON with another command's.
func TestDashboardShowsWhatQueriesTell(t *testing.T) {
	y := &fleetFixture{dir: t.TempDir()}
	startStorage(t, nil, "--data", y.dir)
	d := startDashboard(t, "--storage", y.dir)
	y.furrow(t, "enrollment", "add", "plant1", "--tenant", "acme", "--site", "hall")
	y.furrow(t, "device", "import", factoryFile(t))
	told, _ := y.furrow(t, "device", "show", "pump-7", "--json")
	var want map[string]any
	must(t, json.Unmarshal([]byte(told), &want))
	var got struct{ Device map[string]any }
	must(t, json.Unmarshal([]byte(get(t, http.DefaultClient, d.said.Dashboard+"v1/devices/pump-7", "")), &got))
	for member, v := range want {
		if a, b := jsonText(t, got.Device[member]), jsonText(t, v); a != b {
			t.Errorf("%s is %s, and furrow device show says %s", member, a, b)
		}
	}
	if len(got.Device) != len(want) {
		t.Errorf("it says %v, and furrow device show %v", got.Device, want)
	}
	if page := get(t, http.DefaultClient, d.said.Dashboard+"devices/pump-7", ""); !strings.Contains(page, "pump-7") {
		t.Errorf("the page is %s", page)
	}
	if files, _ := filepath.Glob(filepath.Join(y.dir, "tls")); len(files) > 0 {
		t.Error("it makes certificates without being asked to")
	}
	d.mustEnd(t)
}

// factoryFile has a device with all that one can have.
func factoryFile(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "factory.csv")
	must(t, os.WriteFile(file, []byte("id,site,lat,lon,label.model\npump-7,hall,48.1,11.5,p7\n"), 0o600))
	return file
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	must(t, err)
	return string(text)
}

func TestDashboardIsForThisMachineWithoutASecretOverTLS(t *testing.T) {
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	startStorage(t, nil, "--data", dir)
	must(t, os.WriteFile(secret, []byte("battery staple\n"), 0o600))
	open := filepath.Join(t.TempDir(), "open")
	must(t, os.WriteFile(open, []byte("battery staple\n"), 0o644))
	empty := filepath.Join(t.TempDir(), "empty")
	must(t, os.WriteFile(empty, nil, 0o600))
	for line, want := range map[string]string{
		"--listen 0.0.0.0:0":                                        "--password-file or a --token-file",
		"--listen :0 --tls self-signed":                             "--password-file or a --token-file",
		"--listen [::]:0 --token-file " + secret:                    "overheard",
		"--listen 0.0.0.0:0 --behind-proxy":                         "--password-file or a --token-file",
		"--listen 127.0.0.1:0 --password-file " + open:              "chmod 600",
		"--listen 127.0.0.1:0 --password-file " + empty:             "is empty",
		"--listen 127.0.0.1:0 --password-file /no/file":             "/no/file",
		"--listen nowhere":                                          "--listen",
		"--listen 127.0.0.1:0 --tls sometimes":                      "--tls is",
		"--listen 127.0.0.1:0 --pipeline none":                      "--pipeline",
		"--listen 127.0.0.1:0 --config /nowhere.yaml":               "/nowhere.yaml",
		"--listen 127.0.0.1:0 --storage /no/directory":              "start it with furrow up",
		"--listen 127.0.0.1:0 --silent-after 1ms --storage " + dir:  "--silent-after: it must be at least 1s",
		"--listen 127.0.0.1:0 --silent-after soon --storage " + dir: "silent-after",
	} {
		args := append([]string{"dashboard", "--storage", dir}, strings.Fields(line)...)
		if code, _, errs := furrow(t.Context(), args...); code == exitOK || !strings.Contains(errs, want) ||
			strings.Contains(errs, "battery") {
			t.Errorf("%s: exit %d, %s; want %q", line, code, errs, want)
		}
	}
	t.Setenv(passwordVariable, "short")
	if code, _, errs := furrow(t.Context(), "dashboard", "--storage", dir, "--listen", "127.0.0.1:0"); code == exitOK ||
		!strings.Contains(errs, "too short") {
		t.Errorf("a short password: exit %d, %s", code, errs)
	}
}

func TestDashboardOverTLSTakesAToken(t *testing.T) {
	dir, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	startStorage(t, nil, "--data", dir)
	must(t, os.WriteFile(secret, []byte("battery staple\n"), 0o600))
	d := startDashboard(t, "--storage", dir, "--listen", "0.0.0.0:0", "--tls", "self-signed", "--token-file", secret)
	pem, err := os.ReadFile(d.said.TLS.CAFile)
	must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
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

func TestUpHasADashboardUnlessItIsToldNotTo(t *testing.T) {
	u := startUp(t, "--storage", t.TempDir(), "--no-worker")
	if body := get(t, http.DefaultClient, u.said.Dashboard+"healthz", ""); !strings.Contains(body, "alive") {
		t.Error(body)
	}
	http.DefaultClient.CloseIdleConnections()
	u.mustEnd(t)
	u = startUp(t, "--storage", t.TempDir(), "--no-worker", "--no-dashboard")
	if u.said.Dashboard != "" {
		t.Errorf("it says %q", u.said.Dashboard)
	}
	u.mustEnd(t)
	if code, _, errs := furrow(t.Context(), "up", "--storage", t.TempDir(), "--listen", "127.0.0.1:0", "--storage-port",
		"0", "--dashboard", "0.0.0.0:0"); code == exitOK || !strings.Contains(errs, "--dashboard 0.0.0.0:0 can be reached") {
		t.Errorf("open to all: exit %d, %s", code, errs)
	}
}
