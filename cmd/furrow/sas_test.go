package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furrow/sas"
)

// A runningEndpoint is a sas command that has said where it listens.
type runningEndpoint struct {
	tokenScreen
	running
}

// startEndpoint runs "furrow sas --json" on a free port until the test ends.
func startEndpoint(t *testing.T, args ...string) *runningEndpoint {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	e := &runningEndpoint{running: running{stop: stop, exit: make(chan int, 1), stderr: &lockedBuffer{}}}
	out, stdout := io.Pipe()
	line := append([]string{"furrow", "sas", "--json", "--verbose", "--listen", "127.0.0.1:0"}, args...)
	go func() {
		code := run(ctx, line, nil, stdout, e.stderr)
		stdout.Close()
		e.exit <- code
	}()
	said, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v: %v, %s", line, err, e.stderr)
	}
	if err := json.Unmarshal(said, &e.tokenScreen); err != nil {
		t.Fatalf("%s: %v", said, err)
	}
	t.Cleanup(stop)
	return e
}

// enrolledKey makes an enrollment, and returns its key.
func enrolledKey(t *testing.T, dir string) sas.Key {
	t.Helper()
	if code, _, errs := furrow(t.Context(), "enrollment", "add", "factory", "--tenant", "contoso", "--storage",
		dir); code != exitOK {
		t.Fatalf("enrollment add: exit %d, %s", code, errs)
	}
	code, out, errs := furrow(t.Context(), "enrollment", "key", "factory", "--show-key", "--storage", dir)
	if code != exitOK {
		t.Fatalf("enrollment key: exit %d, %s", code, errs)
	}
	for word := range strings.FieldsSeq(out) {
		if key, err := sas.ParseKey(word); err == nil {
			return key
		}
	}
	t.Fatalf("no key in %q", out)
	return nil
}

func askFor(t *testing.T, client *http.Client, endpoint string, proof string) (*http.Response, sas.Answer) {
	t.Helper()
	r, err := http.NewRequest("POST", endpoint+"/v1/devices/pump-7/token", nil)
	must(t, err)
	r.Header.Set("Authorization", proof)
	w, err := client.Do(r)
	must(t, err)
	defer w.Body.Close()
	var a sas.Answer
	if w.StatusCode == http.StatusOK {
		must(t, json.NewDecoder(w.Body).Decode(&a))
	}
	return w, a
}

func pump7(enrollment sas.Key) string {
	return enrollment.Of("pump-7").Prove("factory/registrations/pump-7", time.Now().Add(time.Hour))
}

func TestDeviceGetsItsTokenAndWritesWithIt(t *testing.T) {
	dir := t.TempDir()
	storage := startStorage(t, nil, "--data", dir, "--tls", "self-signed")
	e := startEndpoint(t, "--storage", dir, "--tls", "self-signed") // before there is an enrollment
	key := enrolledKey(t, dir)
	if e.TLS == nil || storage.TLS == nil || e.TLS.CAFingerprint != storage.TLS.CAFingerprint {
		t.Fatalf("a device has to trust two authorities: %+v and %+v", storage.TLS, e.TLS)
	}
	pem, err := os.ReadFile(e.TLS.CAFile)
	must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()

	proof := pump7(key)
	var a sas.Answer
	for try := 0; a.SAS == ""; try++ { // the endpoint sees new enrollments after a while
		var w *http.Response
		if w, a = askFor(t, client, e.Endpoint, proof); a.SAS == "" &&
			(w.StatusCode != http.StatusUnauthorized || try > 200) {
			t.Fatalf("status %s; %s", w.Status, e.stderr)
		}
		time.Sleep(time.Duration(min(try, 1)) * 100 * time.Millisecond)
	}
	if a.Device != "pump-7" || !strings.HasPrefix(a.URL, storage.Table+"/") {
		t.Errorf("the answer is %+v", a)
	}
	row := `{"PartitionKey":"pump-7","RowKey":"` + a.EarliestRowKey.String() + `","temperature":21.5}`
	for partition, want := range map[string]int{"pump-7": http.StatusCreated, "pump-8": http.StatusForbidden} {
		w, err := client.Post(a.URL+"?"+a.SAS, "application/json",
			strings.NewReader(strings.Replace(row, "pump-7", partition, 1)))
		must(t, err)
		w.Body.Close()
		if w.StatusCode != want {
			t.Errorf("writing to %s: %s", partition, w.Status)
		}
	}
	page, err := client.Get(e.Endpoint + "/metrics")
	must(t, err)
	text, err := io.ReadAll(page.Body)
	must(t, err)
	page.Body.Close()
	for _, want := range []string{"furrow_sas_tokens_total 1",
		`furrow_storage_operations_total{kind="insert",service="table"}`, "furrow_sas_policy_repairs_total 0"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in the metrics", want)
		}
	}
	if w, err := client.Get(e.Endpoint + "/readyz"); err != nil || w.StatusCode != http.StatusOK {
		t.Errorf("/readyz: %v, %v", w, err)
	} else {
		w.Body.Close()
	}
	client.CloseIdleConnections()
	e.mustEnd(t)
	for _, secret := range []string{proof, a.SAS, key.Base64(), "sig="} {
		if strings.Contains(e.stderr.String(), secret) {
			t.Errorf("the log has %q:\n%s", secret, e.stderr)
		}
	}
	if !strings.Contains(e.stderr.String(), "token issued") {
		t.Errorf("the log is %s", e.stderr)
	}
	storage.mustEnd(t)
}

func TestCertificateOfTheEndpointIsReadAgainWhenItChanges(t *testing.T) {
	dir, certs := t.TempDir(), t.TempDir()
	storage := startStorage(t, nil, "--data", dir)
	file := filepath.Join(certs, "server.pem")
	renew := func() string { // by an authority of another directory each time
		made := startStorage(t, nil, "--data", t.TempDir(), "--tls", "self-signed")
		made.mustEnd(t)
		content, err := os.ReadFile(filepath.Join(filepath.Dir(made.TLS.CAFile), "server.pem"))
		must(t, err)
		must(t, os.WriteFile(file, content, 0o600))
		return made.TLS.Fingerprint
	}
	first := renew()
	e := startEndpoint(t, "--storage", dir, "--tls", file+","+file)
	if e.TLS.Fingerprint != first || e.TLS.CAFile != "" {
		t.Errorf("the screen has %+v, want %s", e.TLS, first)
	}
	serial := func() string {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(e.Endpoint, "https://"), &tls.Config{InsecureSkipVerify: true})
		must(t, err)
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	before := serial()
	renew()
	must(t, os.Chtimes(file, time.Now(), time.Now().Add(time.Minute)))
	if serial() == before {
		t.Error("it still shows the old certificate")
	}
	e.mustEnd(t)
	storage.mustEnd(t)
}

func TestEndpointSaysWhatIsInTheWayAndWhatToDo(t *testing.T) {
	dir := t.TempDir()
	storage := startStorage(t, nil, "--data", dir, "--show-key")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	far := "AccountName=acct;AccountKey=c2VjcmV0LXNlY3JldA==;TableEndpoint=http://198.51.100.7:10002/acct;"
	keyless := "AccountName=acct;SharedAccessSignature=sv=1&sig=c2VjcmV0;" +
		"TableEndpoint=https://acct.table.core.windows.net;"
	t.Setenv("FURROW_MASTER_KEY", sas.NewSealingKey().Base64())
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "--behind-proxy", []string{"--listen", "0.0.0.0:0"}},
		{exitUsage, "--listen", []string{"--listen", "10080"}},
		{exitUsage, "--tls is", []string{"--tls", "on"}},
		{exitUsage, "--rate is 0", []string{"--rate", "0"}},
		{exitUsage, "--device-rate is -1", []string{"--device-rate", "-1"}},
		{exitUsage, "intercepted", []string{"--table-url", "http://198.51.100.7/acct"}},
		{exitUsage, "--table-url", []string{"--table-url", "tables"}},
		{exitFailed, "--tls self-signed, or name", []string{"--storage", far}},
		{exitFailed, "use a connection string with an AccountKey", []string{"--storage", keyless}},
		{exitFailed, "choose another port with --listen", []string{"--listen", taken.Addr().String()}},
		{exitFailed, "choose another with --listen", []string{"--listen", "203.0.113.7:1"}},
		{exitFailed, "no such file", []string{"--tls", "a.crt,a.key"}},
		{exitFailed, "start it with furrow up", []string{"--storage", t.TempDir()}},
	} {
		args := append([]string{"sas", "--storage", dir, "--listen", "127.0.0.1:0"}, c.args...)
		code, out, errs := furrow(t.Context(), args...)
		if code != c.code || !strings.Contains(errs, c.want) || out != "" || strings.Contains(errs, "c2Vjc") {
			t.Errorf("sas %q: exit %d, stdout %q, stderr %q; want exit %d and %q", c.args, code, out, errs, c.code, c.want)
		}
	}
	storage.mustEnd(t)
}

func TestPlainEndpointOpensOnlyBehindAProxy(t *testing.T) {
	dir := t.TempDir()
	storage := startStorage(t, nil, "--data", dir)
	e := startEndpoint(t, "--storage", dir, "--listen", "0.0.0.0:0", "--behind-proxy")
	if !strings.HasPrefix(e.Endpoint, "http://") || !strings.Contains(e.stderr.String(), "--table-url") {
		t.Errorf("at %s, it warns: %s", e.Endpoint, e.stderr)
	}
	e.mustEnd(t)
	e = startEndpoint(t, "--storage", dir, "--listen", "0.0.0.0:0", "--behind-proxy", "--table-url",
		"https://tables.example.com/furrow/")
	if e.Table != "https://tables.example.com/furrow" || strings.Contains(e.stderr.String(), "warning") {
		t.Errorf("devices are told %s; it warns: %s", e.Table, e.stderr)
	}
	e.mustEnd(t)
	storage.mustEnd(t)
}

func TestEndpointsScreenHoldsAllThatIsNeeded(t *testing.T) {
	s := tokenScreen{Endpoint: "https://e", Table: "https://t", Account: "acct", Storage: "https://s",
		MasterKey: "/master.key", TLS: &tlsScreen{"AA:BB", "/ca.pem", "CC:DD"}}
	text := s.text()
	for _, want := range []string{s.Endpoint, s.Table, s.Account, s.Storage, s.MasterKey, s.TLS.Fingerprint, s.TLS.CAFile,
		s.TLS.CAFingerprint} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not on the screen:\n%s", want, text)
		}
	}
}
