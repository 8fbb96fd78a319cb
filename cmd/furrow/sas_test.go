package main

import (
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"furrow/sas"
)

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

func TestDeviceGetsItsTokenAndWritesWithIt(t *testing.T) {
	dir := t.TempDir()
	storage := startStorage(t, "--data", dir, "--tls", "self-signed")
	// There is no enrollment yet.
	e := startEndpoint(t, "--storage", dir, "--tls", "self-signed", "--metrics", "127.0.0.1:0")
	f := &fixture{t: t, storage: dir}
	f.must("enrollment add factory --tenant contoso")
	key, err := sas.ParseKey(jsonOf[keyLine](t, f.must("enrollment key factory --show-key --json"))[0].Key)
	must(t, err)
	if e.said.TLS == nil || storage.said.TLS == nil || e.said.TLS.CAFingerprint != storage.said.TLS.CAFingerprint {
		t.Fatalf("a device has to trust two authorities: %+v and %+v", storage.said.TLS, e.said.TLS)
	}
	client := clientTrusting(t, e.said.TLS.CAFile)
	proof := key.Of("pump-7").Prove("factory/registrations/pump-7", time.Now().Add(time.Hour))
	var a sas.Answer
	await(t, "the endpoint sees new enrollments after a while", func() bool {
		var w *http.Response
		if w, a = askFor(t, client, e.said.Endpoint, proof); a.SAS == "" && w.StatusCode != http.StatusUnauthorized {
			t.Fatalf("status %s; %s", w.Status, e.stderr)
		}
		return a.SAS != ""
	})
	if a.Device != "pump-7" || !strings.HasPrefix(a.URL, storage.said.Table+"/") {
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
	if status, _ := ask(t, client, e.said.Endpoint+"/metrics", ""); status != http.StatusNotFound {
		t.Errorf("devices can read the metrics: %d", status)
	}
	at := regexp.MustCompile(`msg="metrics served" url=(\S+)`).FindStringSubmatch(e.stderr.String())[1]
	metrics := get(t, http.DefaultClient, at, "")
	for _, want := range []string{"furrow_sas_tokens_total 1",
		`furrow_storage_operations_total{kind="insert",service="table"}`, "furrow_sas_policy_repairs_total 0"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %q in the metrics", want)
		}
	}
	get(t, client, e.said.Endpoint+"/readyz", "")
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

func TestEndpointServesAGivenCertificate(t *testing.T) {
	made := startStorage(t, "--data", t.TempDir(), "--tls", "self-signed")
	file := filepath.Join(filepath.Dir(made.said.TLS.CAFile), "server.pem")
	e := startEndpoint(t, "--storage", newFixture(t).storage, "--tls", file+","+file)
	if e.said.TLS.Fingerprint != made.said.TLS.Fingerprint || e.said.TLS.CAFile != "" {
		t.Errorf("the screen has %+v, want %s", e.said.TLS, made.said.TLS.Fingerprint)
	}
	get(t, clientTrusting(t, made.said.TLS.CAFile), e.said.Endpoint+"/healthz", "")
}

func TestEndpointErrorsSayWhatToDo(t *testing.T) {
	f := newFixture(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	t.Setenv("FURROW_MASTER_KEY", sas.NewSealingKey().Base64())
	for flags, want := range map[string]string{
		"--listen 0.0.0.0:0":                   "--behind-proxy",
		"--listen 10080":                       "--listen",
		"--tls on":                             "--tls is",
		"--rate 0":                             "--rate is 0",
		"--device-rate -1":                     "--device-rate is -1",
		"--table-url http://198.51.100.7/acct": "intercepted",
		"--table-url tables":                   "--table-url",
	} {
		f.refused(exitUsage, want, "sas "+flags)
	}
	for flags, want := range map[string]string{
		"--storage AccountName=acct;AccountKey=c2VjcmV0LXNlY3JldA==;" +
			"TableEndpoint=http://198.51.100.7:10002/acct;": "--tls self-signed, or name",
		"--storage AccountName=acct;SharedAccessSignature=sv=1&sig=c2VjcmV0;" +
			"TableEndpoint=https://acct.table.core.windows.net;": "use a connection string with an AccountKey",
		"--listen " + taken.Addr().String():             "choose another port with --listen",
		"--listen 203.0.113.7:1":                        "choose another with --listen",
		"--listen 127.0.0.1:0 --tls a.crt,a.key":        "no such file",
		"--listen 127.0.0.1:0 --storage " + t.TempDir(): "start it with furrow up",
	} {
		if errs := f.refused(exitFailed, want, "sas "+flags); strings.Contains(errs, "c2Vjc") {
			t.Errorf("sas %s shows the key: %s", flags, errs)
		}
	}
}

func TestEndpointIsInTheClearBeyondThisMachineOnlyBehindAProxy(t *testing.T) {
	f := newFixture(t)
	e := startEndpoint(t, "--storage", f.storage, "--listen", "0.0.0.0:0", "--behind-proxy")
	if !strings.HasPrefix(e.said.Endpoint, "http://") || !strings.Contains(e.stderr.String(), "--table-url") {
		t.Errorf("at %s, it warns: %s", e.said.Endpoint, e.stderr)
	}
	e.mustEnd(t)
	e = startEndpoint(t, "--storage", f.storage, "--listen", "0.0.0.0:0", "--behind-proxy", "--table-url",
		"https://tables.example.com/furrow/")
	if e.said.Table != "https://tables.example.com/furrow" || strings.Contains(e.stderr.String(), "warning") {
		t.Errorf("devices are told %s; it warns: %s", e.said.Table, e.stderr)
	}
	e.mustEnd(t)
}

func TestScreenOfTheEndpointIsComplete(t *testing.T) {
	s := tokenScreen{Endpoint: "https://e", Table: "https://t", Account: "acct", Storage: "https://s",
		MasterKey: "/master.key", TLS: &tlsScreen{Fingerprint: "AA:BB", CAFile: "/ca.pem", CAFingerprint: "CC:DD"}}
	for _, want := range []string{s.Endpoint, s.Table, s.Account, s.Storage, s.MasterKey, s.TLS.Fingerprint, s.TLS.CAFile,
		s.TLS.CAFingerprint} {
		if text := s.text(); !strings.Contains(text, want) {
			t.Errorf("%q is not on the screen:\n%s", want, text)
		}
	}
}
