package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
)

// startEntra serves the tables of a storage directory over TLS as an account without keys does. It takes Entra's
// tokens, and lets none of them read or set stored access policies. It returns a connection string, and a file with the
// certificate.
func startEntra(t *testing.T) (storage, ca string) {
	t.Helper()
	dir := t.TempDir()
	served := startStorage(t, "--data", dir, "--tls", "self-signed")
	account, err := tables.ParseAccount(text(t, filepath.Join(dir, "connection")))
	must(t, err)
	key, err := base64.StdEncoding.DecodeString(account.Key)
	must(t, err)
	behind, err := url.Parse(account.Table)
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: behind.Scheme, Host: behind.Host})
	proxy.Transport = clientTrusting(t, served.said.TLS.CAFile).Transport
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		comp := r.URL.Query().Get("comp")
		switch scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " "); {
		case scheme == "" && comp == "":
		case scheme != "Bearer" || comp == "acl": // learn.microsoft.com: "Set Table ACL", Authorization
			http.Error(w, "refused", http.StatusNotFound)
			return
		default:
			date := time.Now().UTC().Format(http.TimeFormat)
			resource := "/" + account.Name + r.URL.EscapedPath()
			if comp != "" {
				resource += "?comp=" + comp
			}
			mac := hmac.New(sha256.New, key)
			mac.Write([]byte(strings.Join([]string{r.Method, r.Header.Get("Content-MD5"), r.Header.Get("Content-Type"), date,
				resource}, "\n")))
			r.Header.Set("x-ms-date", date)
			r.Header.Set("Authorization", "SharedKey "+account.Name+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	return "AccountName=" + account.Name + ";TableEndpoint=" + s.URL + "/" + account.Name, ca
}

// TestAccountWithoutKeysHasTokensThatEndAtExpiry: the endpoint signs in by a managed identity, and nobody has a key of
// the account.
func TestAccountWithoutKeysHasTokensThatEndAtExpiry(t *testing.T) {
	storage, ca := startEntra(t)
	serveIdentities(t, "11111111-2222-3333-4444-555555555555")
	inEmptyDirectory(t)
	t.Setenv("FURROW_STORAGE", storage)
	t.Setenv("FURROW_MASTER_KEY", base64.StdEncoding.EncodeToString(make([]byte, 32)))
	run := func(line string) string {
		t.Helper()
		code, out, errs := furrow(t.Context(), append(strings.Fields(line), "--ca", ca)...)
		if code != exitOK {
			t.Fatalf("furrow %s: exit %d, %s%s", line, code, out, errs)
		}
		return out
	}
	refused(t, anyFailure, "create one with furrow enrollment add --revocation at-expiry", "sas --listen 127.0.0.1:0",
		"--ca", ca)
	run("enrollment add plant0 --tenant contoso")
	refused(t, anyFailure, "enrollment plant0: its tokens refer to stored access policies, which need the account's key",
		"sas --listen 127.0.0.1:0", "--ca", ca)
	refused(t, exitUsage, "life of 2h is longer than 1h", "enrollment add plant1 --tenant contoso --revocation at-expiry "+
		"--life 2h", "--ca", ca)
	refused(t, exitUsage, "it takes at-once or at-expiry", "enrollment add plant1 --tenant contoso --revocation soon",
		"--ca", ca)
	run("enrollment add plant1 --tenant contoso --revocation at-expiry")
	if out := run("enrollment list --json"); !strings.Contains(out, `"revocation":"at-expiry"`) {
		t.Errorf("the enrollments are %s", out)
	}
	key, err := sas.ParseKey(jsonOf[keyLine](t, run("enrollment key plant1 --show-key --json"))[0].Key)
	must(t, err)
	e := startEndpoint(t, "--ca", ca)
	proof := key.Of("pump-7").Prove("plant1/registrations/pump-7", time.Now().Add(time.Hour))
	w, a := askFor(t, http.DefaultClient, e.said.Endpoint, proof)
	if a.SAS == "" {
		t.Fatalf("%s: %s", w.Status, e.stderr)
	}
	client := clientTrusting(t, ca)
	write := func(partition, row string) int {
		t.Helper()
		w, err := client.Post(a.URL+"?"+a.SAS, "application/json",
			strings.NewReader(`{"PartitionKey":"`+partition+`","RowKey":"`+row+`","temperature":21.5}`))
		must(t, err)
		must(t, w.Body.Close())
		return w.StatusCode
	}
	first := a.EarliestRowKey
	for key, want := range map[[2]string]int{{"pump-7", first.String()}: 201, {"pump-8", first.String()}: 403,
		{"pump-7", (first - 1).String()}: 403, {"pump-7", (a.LatestRowKey + 1).String()}: 403} {
		if got := write(key[0], key[1]); got != want {
			t.Errorf("a row %s is answered %d, not %d", key, got, want)
		}
	}
	if w, err := client.Get(a.URL + "?" + a.SAS); err != nil || w.StatusCode != http.StatusForbidden {
		t.Errorf("a device reads: %v, %v", w, err)
	}
	revoked := jsonOf[statusLine](t, run("device revoke pump-7 --json"))
	if len(revoked) != 1 || !revoked[0].AtExpiry || revoked[0].Until == nil || !revoked[0].Until.Equal(a.Expires) {
		t.Errorf("revoked: %+v; its token expires at %s", revoked, a.Expires)
	}
	if got := write("pump-7", (first + 1).String()); got != 201 {
		t.Errorf("a row before the token's expiry is answered %d", got)
	}
	if w, _ := askFor(t, http.DefaultClient, e.said.Endpoint, proof); w.StatusCode != http.StatusForbidden {
		t.Errorf("a revoked device is answered %s", w.Status)
	}
	until := "its last one expires at " + a.Expires.Format(time.RFC3339)
	if out := run("device revoke pump-7"); !strings.Contains(out, until) {
		t.Errorf("revoked again: %s", out)
	}
	refused(t, anyFailure, "its tokens end when they expire", "enrollment revoke plant1", "--ca", ca)
	run("device restore pump-7")
	if _, again := askFor(t, http.DefaultClient, e.said.Endpoint, proof); again.SAS == "" {
		t.Error("a restored device gets no token")
	}
	http.DefaultClient.CloseIdleConnections()
	e.mustEnd(t)
	if strings.Contains(e.stderr.String(), "ERROR") || !strings.Contains(e.stderr.String(), "enrollment=plant0") {
		t.Errorf("the log is %s", e.stderr)
	}
}
