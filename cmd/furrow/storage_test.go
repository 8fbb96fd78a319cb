package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"furrow/tables/local"
)

// A running is a storage command that has said where it listens.
type running struct {
	screen
	stop   context.CancelFunc
	exit   chan int
	stderr *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startStorage runs "furrow storage --json" on free ports until the test ends.
func startStorage(t *testing.T, stdin io.Reader, args ...string) *running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &running{stop: stop, exit: make(chan int, 1), stderr: &lockedBuffer{}}
	out, stdout := io.Pipe()
	line := append([]string{"furrow", "storage", "--json", "--listen", "127.0.0.1:0"}, args...)
	go func() {
		code := run(ctx, line, stdin, stdout, r.stderr)
		stdout.Close()
		r.exit <- code
	}()
	said, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v: %v, %s", line, err, r.stderr)
	}
	if err := json.Unmarshal(said, &r.screen); err != nil {
		t.Fatalf("%s: %v", said, err)
	}
	t.Cleanup(stop)
	return r
}

// mustEnd waits for the end of the command, as a person with Ctrl-C does.
func (r *running) mustEnd(t *testing.T) {
	t.Helper()
	r.stop()
	if code := <-r.exit; code != exitOK {
		t.Errorf("exit %d when it was told to stop: %s", code, r.stderr)
	}
}

func (r *running) tables(t *testing.T) *aztables.ServiceClient {
	t.Helper()
	client, err := aztables.NewServiceClientFromConnectionString(r.ConnectionString, nil)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (r *running) tableNames(t *testing.T) []string {
	t.Helper()
	var names []string
	pager := r.tables(t).NewListTablesPager(nil)
	for pager.More() {
		page, err := pager.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range page.Tables {
			names = append(names, *table.Name)
		}
	}
	return names
}

func TestStorageServesItsConnectionStringAndKeepsWhatItGot(t *testing.T) {
	dir := t.TempDir()
	first := startStorage(t, nil, "--data", dir, "--show-key")
	if _, err := first.tables(t).CreateTable(t.Context(), "readings", nil); err != nil {
		t.Fatal(err)
	}
	first.mustEnd(t)
	if got := first.stderr.String(); got != "" {
		t.Errorf("it complained: %s", got)
	}
	again := startStorage(t, nil, "--data", dir, "--show-key")
	if names := again.tableNames(t); len(names) != 1 || names[0] != "readings" {
		t.Errorf("after a restart there are the tables %q", names)
	}
	again.mustEnd(t)
}

func TestKeyIsKeptForItsOwnerAndShownOnlyWhenAsked(t *testing.T) {
	const key = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	dir := t.TempDir()
	t.Setenv("FURROW_ACCOUNT_KEY", key)
	given := startStorage(t, nil, "--data", dir, "--show-key")
	given.mustEnd(t)
	if !strings.Contains(given.ConnectionString, "AccountKey="+key+";") {
		t.Errorf("the connection string is %q", given.ConnectionString)
	}
	t.Setenv("FURROW_ACCOUNT_KEY", "")
	kept := startStorage(t, nil, "--data", dir)
	kept.mustEnd(t)
	if kept.ConnectionString != "" {
		t.Errorf("unasked, it prints %q", kept.ConnectionString)
	}
	content, err := os.ReadFile(kept.KeyFile)
	if err != nil || strings.TrimSpace(string(content)) != key {
		t.Errorf("%s holds %q, %v", kept.KeyFile, content, err)
	}
	if info, err := os.Stat(kept.KeyFile); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %v, %v", kept.KeyFile, info.Mode(), err)
	}
	if text := kept.screen.text(); strings.Contains(text, key) ||
		!strings.Contains(text, "AccountKey=$(cat '"+kept.KeyFile+"')") {
		t.Errorf("the screen is\n%s", text)
	}
}

func TestStorageOverTLSIsTrustedWithItsCAFile(t *testing.T) {
	s := startStorage(t, nil, "--data", t.TempDir(), "--tls", "self-signed")
	pem, err := os.ReadFile(s.TLS.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	for _, url := range []string{s.Blob, s.Queue, s.Table} {
		answer, err := client.Get(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		answer.Body.Close()
		if !strings.HasPrefix(url, "https://") || answer.TLS == nil {
			t.Errorf("%s was answered without TLS", url)
		}
	}
	client.CloseIdleConnections()
	s.mustEnd(t)
}

func TestStorageSaysWhatIsInTheWayAndWhatToDo(t *testing.T) {
	dir := t.TempDir()
	s := startStorage(t, nil, "--data", dir)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSuffix(strings.TrimPrefix(s.Blob, "http://"), "/furrow")
	for want, args := range map[string][]string{
		address + ": bind: address already in use (another program listens there": {"--listen", address, "--data",
			t.TempDir()},
		dir + ": another process":      {"--listen", "127.0.0.1:0", "--data", dir},
		"choose another directory":     {"--listen", "127.0.0.1:0", "--data", file},
		"choose another with --listen": {"--listen", "203.0.113.7:1", "--data", t.TempDir()},
		"lower-case letters":           {"--listen", "127.0.0.1:0", "--data", t.TempDir(), "--account", "Not Allowed"},
		"no such file": {"--listen", "127.0.0.1:0", "--data", t.TempDir(), "--tls", file + ".crt," + file +
			".key"},
	} {
		code, out, errs := furrow(t.Context(), append([]string{"storage"}, args...)...)
		if code != exitFailed || !strings.Contains(errs, want) || out != "" {
			t.Errorf("storage %q: exit %d, stdout %q, stderr %q; want exit 1 and %q", args, code, out, errs, want)
		}
	}
	denied := withAdvice(&fs.PathError{Op: "mkdir", Path: "/data", Err: syscall.EACCES}, "--data", "--listen").Error()
	if !strings.Contains(denied, "/data") || !strings.Contains(denied, "--data") {
		t.Errorf("of a directory that is not ours, it says %q", denied)
	}
	s.mustEnd(t)
}

func TestServerOfABenchEndsWithItsInputAndNotBefore(t *testing.T) {
	stdin, parent := io.Pipe()
	s := startStorage(t, stdin, "--data", t.TempDir(), "--stop-with-input", "--show-key")
	s.stop() // Ctrl-C
	if names := s.tableNames(t); len(names) != 0 {
		t.Errorf("there are tables: %q", names)
	}
	parent.Close()
	if code := <-s.exit; code != exitOK {
		t.Errorf("exit %d: %s", code, s.stderr)
	}
}

func TestOpenPlainHTTPIsWarnedOf(t *testing.T) {
	for listen, warned := range map[string]bool{"0.0.0.0:0": true, "127.0.0.1:0": false} {
		s := startStorage(t, nil, "--data", t.TempDir(), "--listen", listen)
		s.mustEnd(t)
		if got := strings.Contains(s.stderr.String(), "without TLS"); got != warned {
			t.Errorf("%s: stderr is %q", listen, s.stderr)
		}
	}
	s := startStorage(t, nil, "--data", t.TempDir(), "--listen", "0.0.0.0:0", "--tls", "self-signed")
	s.mustEnd(t)
	if got := s.stderr.String(); got != "" {
		t.Errorf("with TLS, stderr is %q", got)
	}
}

func TestScreenHoldsAllThatAClientNeeds(t *testing.T) {
	s := startStorage(t, nil, "--data", t.TempDir(), "--tls", "self-signed", "--show-key")
	s.mustEnd(t)
	text := s.screen.text()
	for _, want := range []string{s.Blob, s.Queue, s.Table, s.Data, s.KeyFile, s.ConnectionString, s.TLS.CAFile,
		s.TLS.Fingerprint, s.TLS.CAFingerprint} {
		if want == "" || !strings.Contains(text, want) {
			t.Errorf("%q is not on the screen:\n%s", want, text)
		}
	}
	for _, url := range []string{s.Blob, s.Queue, s.Table} {
		if _, _, err := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/"+
			local.DefaultAccount)); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestQuotedWordsSurviveAShell(t *testing.T) {
	for word, want := range map[string]string{"/a b": "'/a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := quoted(word); got != want {
			t.Errorf("quoted(%q) = %s, want %s", word, got, want)
		}
	}
}
