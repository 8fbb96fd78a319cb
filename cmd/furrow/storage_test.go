package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"furrow/cmd/internal/setup"
	"furrow/tables/local"
)

// tableNames lists the tables of a storage command that runs with --show-key.
func tableNames(t *testing.T, s *running[storageScreen]) (names []string) {
	t.Helper()
	client, err := aztables.NewServiceClientFromConnectionString(s.said.ConnectionString, nil)
	must(t, err)
	for pager := client.NewListTablesPager(nil); pager.More(); {
		page, err := pager.NextPage(t.Context())
		must(t, err)
		for _, table := range page.Tables {
			names = append(names, *table.Name)
		}
	}
	return names
}

func TestStorageKeepsItsTablesOverARestart(t *testing.T) {
	dir := t.TempDir()
	first := startStorage(t, "--data", dir, "--show-key")
	must(t, connect(t, first.said.ConnectionString).Table("readings").Create(t.Context()))
	first.mustEnd(t)
	if got := first.stderr.String(); got != "" {
		t.Errorf("it complained: %s", got)
	}
	again := startStorage(t, "--data", dir, "--show-key")
	if names := tableNames(t, again); !slices.Equal(names, []string{"readings"}) {
		t.Errorf("after a restart there are the tables %q", names)
	}
	again.mustEnd(t)
}

func TestKeyIsKeptForItsOwnerAndShownOnlyWhenAsked(t *testing.T) {
	const key = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	dir := t.TempDir()
	t.Setenv("FURROW_ACCOUNT_KEY", key)
	given := startStorage(t, "--data", dir, "--show-key")
	given.mustEnd(t)
	if !strings.Contains(given.said.ConnectionString, "AccountKey="+key+";") {
		t.Errorf("the connection string is %q", given.said.ConnectionString)
	}
	t.Setenv("FURROW_ACCOUNT_KEY", "")
	kept := startStorage(t, "--data", dir)
	kept.mustEnd(t)
	if kept.said.ConnectionString != "" {
		t.Errorf("unasked, it prints %q", kept.said.ConnectionString)
	}
	file := kept.said.KeyFile
	if got := strings.TrimSpace(text(t, file)); got != key {
		t.Errorf("%s holds %q", file, got)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %v, %v", file, info.Mode(), err)
	}
	if text := kept.said.text(); strings.Contains(text, key) || !strings.Contains(text, "AccountKey=$(cat '"+file+"')") {
		t.Errorf("the screen is\n%s", text)
	}
}

func TestStorageOverTLSIsTrustedWithItsCAFile(t *testing.T) {
	s := startStorage(t, "--data", t.TempDir(), "--tls", "self-signed", "--show-key")
	client := clientTrusting(t, s.said.TLS.CAFile)
	screen := s.said.text()
	for _, url := range []string{s.said.Blob, s.said.Queue, s.said.Table} {
		answer, err := client.Get(url)
		must(t, err)
		answer.Body.Close()
		if !strings.HasPrefix(url, "https://") || answer.TLS == nil {
			t.Errorf("%s answered without TLS", url)
		}
		address := strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/"+local.DefaultAccount)
		if _, _, err := net.SplitHostPort(address); err != nil || !strings.Contains(screen, url) {
			t.Errorf("%s: %v, or it is not on the screen:\n%s", url, err, screen)
		}
	}
	client.CloseIdleConnections()
	s.mustEnd(t)
	for _, want := range []string{s.said.Data, s.said.KeyFile, s.said.ConnectionString, s.said.TLS.CAFile,
		s.said.TLS.Fingerprint, s.said.TLS.CAFingerprint} {
		if want == "" || !strings.Contains(screen, want) {
			t.Errorf("%q is not on the screen:\n%s", want, screen)
		}
	}
}

func TestStorageErrorsSayWhatToDo(t *testing.T) {
	dir := t.TempDir()
	s := startStorage(t, "--data", dir)
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, "")
	address := strings.TrimSuffix(strings.TrimPrefix(s.said.Blob, "http://"), "/furrow")
	for want, args := range map[string]string{
		address + ": bind: address already in use (something listens there already": "--listen " + address + " --data NEW",
		dir + ": another process":      "--listen 127.0.0.1:0 --data " + dir,
		"choose another directory":     "--listen 127.0.0.1:0 --data " + file,
		"choose another with --listen": "--listen 203.0.113.7:1 --data NEW",
		"lower-case letters":           "--listen 127.0.0.1:0 --data NEW --account Not-Allowed",
		"no such file":                 "--listen 127.0.0.1:0 --data NEW --tls " + file + ".crt," + file + ".key",
	} {
		refused(t, exitFailed, want, "storage "+strings.ReplaceAll(args, "NEW", t.TempDir()))
	}
	denied := storageAdvice(&fs.PathError{Op: "mkdir", Path: "/data", Err: syscall.EACCES}, "--data", "--listen").Error()
	if !strings.Contains(denied, "/data") || !strings.Contains(denied, "--data") {
		t.Errorf("without permission for a directory, it says %q", denied)
	}
	s.mustEnd(t)
}

func TestServerOfABenchEndsWithItsInputAndNotBefore(t *testing.T) {
	stdin, parent := io.Pipe()
	s := start[storageScreen](t, stdin, "storage --listen 127.0.0.1:0 --stop-with-input --show-key --data", t.TempDir())
	s.stop() // Ctrl-C
	if names := tableNames(t, s); len(names) != 0 {
		t.Errorf("there are tables: %q", names)
	}
	parent.Close()
	if code := <-s.exit; code != exitOK {
		t.Errorf("exit %d: %s", code, s.stderr)
	}
}

func TestStorageWarnsOfPlainHTTPBeyondThisMachine(t *testing.T) {
	for flags, warned := range map[string]bool{
		"--listen 0.0.0.0:0": true, "--listen 127.0.0.1:0": false, "--listen 0.0.0.0:0 --tls self-signed": false,
	} {
		s := startStorage(t, append(strings.Fields(flags), "--data", t.TempDir())...)
		s.mustEnd(t)
		if got := s.stderr.String(); strings.Contains(got, "without TLS") != warned || !warned && got != "" {
			t.Errorf("%s: stderr is %q", flags, got)
		}
	}
}

// TestDevicesOnOtherMachinesReachTablesAlone: unless all services are asked for.
func TestDevicesOnOtherMachinesReachTablesAlone(t *testing.T) {
	if len(setup.Addresses()) == 0 {
		t.Skip("this machine has no other address")
	}
	for flags, everywhere := range map[string]bool{"": false, " --listen-all-services": true} {
		s := start[storageScreen](t, nil, "storage --listen 0.0.0.0:0 --data "+t.TempDir()+flags)
		at := map[string]string{"blobs": s.said.Blob, "queues": s.said.Queue, "tables": s.said.Table}
		for service, address := range at {
			loopback := strings.HasPrefix(address, "http://127.0.0.1:")
			if want := service != "tables" && !everywhere; loopback != want {
				t.Errorf("storage%s: %s are at %s", flags, service, address)
			}
		}
		s.mustEnd(t)
	}
}

func TestQuotedWordsSurviveAShell(t *testing.T) {
	for word, want := range map[string]string{"/a b": "'/a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := quoted(word); got != want {
			t.Errorf("quoted(%q) = %s, want %s", word, got, want)
		}
	}
}

// TestStorageRehearsesAzuresLimits: with the flag, the account key cannot write without bounds.
func TestStorageRehearsesAzuresLimits(t *testing.T) {
	s := startStorage(t, "--azure-limits", "--data", t.TempDir(), "--show-key")
	o := &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}}
	client, err := aztables.NewServiceClientFromConnectionString(s.said.ConnectionString, o)
	must(t, err)
	rows := client.NewClient("rows")
	_, err = rows.CreateTable(t.Context(), nil)
	must(t, err)
	var busy atomic.Bool
	var writers sync.WaitGroup
	deadline := time.Now().Add(time.Minute)
	for writer := range 8 {
		writers.Go(func() {
			for i := 0; !busy.Load() && time.Now().Before(deadline); i++ {
				var actions []aztables.TransactionAction
				for n := range 100 {
					actions = append(actions, aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd,
						Entity: fmt.Appendf(nil, `{"PartitionKey":"p","RowKey":"%d-%d-%d"}`, writer, i, n)})
				}
				_, err := rows.SubmitTransaction(t.Context(), actions, nil)
				if re, ok := errors.AsType[*azcore.ResponseError](err); ok && re.StatusCode == http.StatusServiceUnavailable {
					busy.Store(true)
				} else if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	if !busy.Load() {
		t.Error("no write to one partition was refused")
	}
	s.mustEnd(t)
}
