package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/roles"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/service"
	"furrow/worker"
)

// opened returns what a command with the storage flags works with.
func opened(t *testing.T, hooks []roles.Hooks, args ...string) (s *stores, err error) {
	t.Helper()
	app := &cli.App{Name: "furrow", Writer: io.Discard, ErrWriter: io.Discard, Flags: storageFlags(),
		DisableSliceFlagSeparator: true,
		Action:                    func(c *cli.Context) error { s, err = openStorage(c, hooks...); return nil }}
	must(t, app.Run(append([]string{"furrow"}, args...)))
	return s, err
}

// mustReach creates a table and a queue.
func (s *stores) mustReach(t *testing.T) {
	t.Helper()
	must(t, s.Tables.Table(s.Names.Readings()).Create(t.Context()))
	must(t, s.NeedQueues())
	must(t, s.Queues.Queue(s.Names, "live").Create(t.Context()))
}

func TestCommandsNeedOnlyTheServedDirectory(t *testing.T) {
	for name, args := range map[string][]string{
		"http": nil, "https": {"--tls", "self-signed"}, "every address": {"--listen", "0.0.0.0:0", "--tls", "self-signed"},
	} {
		dir := t.TempDir()
		served := startStorage(t, append([]string{"--data", dir}, args...)...)
		s, err := opened(t, nil, "--storage", dir)
		must(t, err)
		s.mustReach(t)
		if info, err := os.Stat(filepath.Join(dir, "connection")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the connection file is %v, %v", name, info, err)
		}
		t.Setenv("FURROW_STORAGE", dir)
		s, err = opened(t, nil)
		must(t, err)
		s.mustReach(t)
		t.Setenv("FURROW_STORAGE", "")
		s.HTTP.CloseIdleConnections()
		served.mustEnd(t)
		began := time.Now()
		_, err = opened(t, nil, "--storage", dir)
		slow := effort.Long() && time.Since(began) > 2*time.Second
		if err == nil || slow || !strings.Contains(err.Error(), "furrow storage --data "+dir) {
			t.Errorf("%s: %v after storage ended, commands say %v", name, time.Since(began), err)
		}
	}
}

func TestStorageIsFoundByConnectionStringVariableOrURL(t *testing.T) {
	connection := azuretest.Local(t).ConnectionString()
	t.Setenv("FURROW_TEST_CONNECTION", connection)
	for _, where := range []string{connection, "env:FURROW_TEST_CONNECTION"} {
		s, err := opened(t, nil, "--storage", where, "--names-prefix", "acme")
		must(t, err)
		s.mustReach(t)
		if got := s.Names.Readings(); got != "acmereadings" {
			t.Errorf("with a prefix, the readings are in %s", got)
		}
	}
	s, err := opened(t, nil, "--storage", "https://acme.table.core.windows.net/?sv=2019-02-02&sig=secret")
	if err != nil || s.Account.Name != "acme" || s.Queues == nil {
		t.Errorf("a URL with a SAS is %v, %v", s, err)
	}
	s, err = opened(t, nil, "--storage", "http://127.0.0.1:1/acme?sv=2019-02-02&sig=secret")
	if err != nil || s.NeedQueues() == nil || !strings.Contains(s.NeedQueues().Error(), "QueueEndpoint") {
		t.Errorf("an account without queues is %v, %v", s, err)
	}
}

func TestErrorsOfStorageFlagsShowNoKey(t *testing.T) {
	empty, secret := t.TempDir(), "c2VjcmV0c2VjcmV0c2VjcmV0"
	t.Setenv("FURROW_TEST_BAD", "AccountKey="+secret)
	for where, want := range map[string]string{
		empty:                                          "or furrow storage --data " + empty,
		filepath.Join(empty, "none"):                   "or give a connection string",
		"env:FURROW_NONE":                              "FURROW_NONE holds nothing",
		"env:FURROW_TEST_BAD":                          "AccountName",
		"AccountKey=" + secret:                         "AccountName",
		"AccountName=a;AccountKey" + secret:            "has no = sign",
		"AccountName=a;AccountKey=?" + secret:          "not in base64",
		"https://a.table.core.windows.net?x=" + secret: "no sig",
	} {
		_, err := opened(t, nil, "--storage", where)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("--storage %s: error %v; want %q", where, err, want)
		}
	}
	if _, err := opened(t, nil, "--names-prefix", "Not_Small"); err == nil ||
		!strings.Contains(err.Error(), "--names-prefix") {
		t.Errorf("an invalid prefix is %v", err)
	}
}

func TestHooksSeeEveryOperation(t *testing.T) {
	var onTables tables.Counter
	var onQueues service.Counts[worker.OperationKind]
	hooks := roles.Hooks{
		Table: onTables.Count,
		Queue: func(_ context.Context, o worker.Operation) { onQueues.Add(o.Kind) },
	}
	s, err := opened(t, []roles.Hooks{hooks, {}}, "--storage", azuretest.Local(t).ConnectionString())
	must(t, err)
	s.mustReach(t)
	if all := onTables.Counts(); all[tables.KindCreateTable] != 1 || len(all) != 1 {
		t.Errorf("one table was created; counted %v", all)
	}
	if all := onQueues.Map(); all[worker.OpCreate] != 3 || len(all) != 1 {
		t.Errorf("three queues were created; counted %v", all)
	}
}
