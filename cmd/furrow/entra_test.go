package main

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startAzuriteWithEntra runs Azurite over TLS such that it takes Entra's tokens, and returns the certificate's file and
// a connection string without a credential. FURROW_AZURITE names its program.
func startAzuriteWithEntra(t *testing.T) (ca, storage, key string) {
	t.Helper()
	program := os.Getenv("FURROW_AZURITE")
	if program == "" || testing.Short() {
		t.Skip("FURROW_AZURITE does not name azurite.js, or the tests are to be short")
	}
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS() // for its certificate, which is good for 127.0.0.1
	defer s.Close()
	dir := t.TempDir()
	ca, private := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "key.pem")
	der, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	must(t, err)
	writeFile(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	writeFile(t, private, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	key = base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))
	storage = runAzurite(t, program, "acme:"+key, "--oauth", "basic", "--cert", ca, "--key", private)
	return ca, storage, key
}

// runAzurite runs Azurite with an account of its own, and returns a connection string without the key.
func runAzurite(t *testing.T, program, account string, args ...string) (storage string) {
	t.Helper()
	log := &lockedBuffer{}
	azurite := exec.Command("node", append([]string{program, "--inMemoryPersistence", "--skipApiVersionCheck",
		"--disableTelemetry", "--silent", "--blobPort", "0", "--queuePort", "0", "--tablePort", "0"}, args...)...)
	azurite.Env = append(os.Environ(), "AZURITE_ACCOUNTS="+account)
	azurite.Stdout, azurite.Stderr = log, log
	must(t, azurite.Start())
	t.Cleanup(func() { _ = azurite.Process.Kill(); _ = azurite.Wait() })
	await(t, log, func() bool { return strings.Count(log.String(), "successfully listening") == 3 })
	name, _, _ := strings.Cut(account, ":")
	storage = "AccountName=" + name
	for _, service := range []string{"Blob", "Queue", "Table"} {
		at := all(log.String(), "Azurite "+service+` service is successfully listening at (\S+)`)
		storage += ";" + service + "Endpoint=" + at[0] + "/" + name
	}
	return storage
}

// serveIdentities serves tokens as Azure does for the managed identity of a container app, and has azidentity find it.
// learn.microsoft.com: "Managed identities in Azure Container Apps", REST endpoint reference.
func serveIdentities(t *testing.T, client string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.Header.Get("X-IDENTITY-HEADER") != "a secret" || q.Get("client_id") != client ||
			q.Get("resource") != "https://storage.azure.com" {
			t.Errorf("a token was asked for with %v and %v", r.Header, q)
		}
		now := time.Now()
		claims, err := json.Marshal(map[string]any{"aud": q.Get("resource"), "iss": "https://sts.windows.net/contoso/",
			"iat": now.Unix(), "nbf": now.Add(-time.Minute).Unix(), "exp": now.Add(time.Hour).Unix(), "appid": client})
		must(t, err)
		part := base64.RawURLEncoding.EncodeToString
		token := part([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + part(claims) + "." + part([]byte("unchecked"))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"expires_on":"%d","resource":%q,"token_type":"Bearer","client_id":%q}`,
			token, now.Add(time.Hour).Unix(), q.Get("resource"), client)
	}))
	t.Cleanup(s.Close)
	for name, value := range map[string]string{"IDENTITY_ENDPOINT": s.URL, "IDENTITY_HEADER": "a secret",
		"AZURE_CLIENT_ID": client, "AZURE_TENANT_ID": "", "AZURE_CLIENT_SECRET": "", "AZURE_FEDERATED_TOKEN_FILE": ""} {
		t.Setenv(name, value)
	}
}

// TestRolesSignInByEntra has every role work without the account's key, as a managed identity, but the token endpoint,
// which it needs unless tokens end at expiry.
func TestRolesSignInByEntra(t *testing.T) {
	ca, storage, key := startAzuriteWithEntra(t)
	serveIdentities(t, "11111111-2222-3333-4444-555555555555")
	inEmptyDirectory(t)
	t.Setenv("FURROW_STORAGE", storage)
	t.Setenv("FURROW_MASTER_KEY", base64.StdEncoding.EncodeToString(make([]byte, 32)))
	run := func(line string, args ...string) string {
		t.Helper()
		args = append(append(strings.Fields(line), "--ca", ca), args...)
		code, out, errs := furrow(t.Context(), args...)
		if code != exitOK {
			t.Fatalf("furrow %s: exit %d, %s%s", line, code, out, errs)
		}
		return out
	}
	run("enrollment add plant1 --tenant contoso")
	writeFile(t, "backlog.csv", "device,time,temperature\npump-7,"+
		time.Now().UTC().Add(-2*time.Hour).Format(time.RFC3339)+",21.5\n")
	run("import backlog.csv --enrollment plant1")
	run("schedule --once")
	run("worker --idle-exit 3s")
	if out := run("query pump-7 --latest --json"); !strings.Contains(out, "21.5") {
		t.Errorf("the newest values are %s", out)
	}
	if out := run("status --pipeline live --json"); !strings.Contains(out, `"rows":1`) {
		t.Errorf("the status is %s", out)
	}
	d := startDashboard(t, "--ca", ca)
	if body := get(t, http.DefaultClient, d.said.Dashboard+"v1/devices/pump-7", ""); !strings.Contains(body, "21.5") {
		t.Errorf("the dashboard has %s", body)
	}
	http.DefaultClient.CloseIdleConnections()
	d.mustEnd(t)
	refused(t, anyFailure, "which need the account's key", "sas --listen 127.0.0.1:0", "--ca", ca)
	refused(t, anyFailure, "stored access policies need the account's key", "device revoke pump-7", "--ca", ca)
	t.Setenv("FURROW_STORAGE", storage+";AccountKey="+key)
	run("device revoke pump-7") // what the last one began
}
