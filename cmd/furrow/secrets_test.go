package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furrow/sas"
)

func TestDataDirectoryThatOthersCanUseIsRefusedWithTheCommandThatMendsIt(t *testing.T) {
	for _, command := range []string{"storage --listen 127.0.0.1:0 --data",
		"up --no-dashboard --listen 127.0.0.1:0 --storage"} {
		for _, mode := range []os.FileMode{0o755, 0o750, 0o701, 0o720} {
			dir := filepath.Join(t.TempDir(), "it's data")
			must(t, os.Mkdir(dir, 0o700))
			writeFile(t, filepath.Join(dir, "account.key"), "a secret")
			must(t, os.Chmod(dir, mode))
			refused(t, exitFailed, "chmod 700 "+quoted(dir), command, dir)
		}
	}
}

func TestNewAndEmptyDataDirectoriesBecomePrivate(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	must(t, os.Mkdir(empty, 0o755))
	for _, dir := range []string{empty, filepath.Join(t.TempDir(), "new")} {
		u := startUp(t, "--storage", dir, "--tls", "self-signed", "--no-worker")
		u.mustEnd(t)
		for _, made := range []string{dir, filepath.Join(dir, "tls")} {
			info, err := os.Stat(made)
			must(t, err)
			if info.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v", made, info.Mode())
			}
		}
	}
}

func TestMasterKeyCanBeOutsideOfTheDataDirectory(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "master.key")
	u := startUp(t, "--storage", dir, "--no-worker")
	f := fixtureIn(t, dir)
	f.must("enrollment add plant1 --tenant contoso")
	key := f.must("device key pump-7")
	u.mustEnd(t)
	inside := filepath.Join(dir, "master.key")
	if n := strings.Count(u.stderr.String(), "mv "+quoted(inside)); n != 1 {
		t.Errorf("it says %d times how to move the master key: %s", n, u.stderr)
	}
	must(t, os.Rename(inside, file))
	refused(t, exitFailed, "is missing", "up --no-dashboard --storage-port 0 --listen 127.0.0.1:0 --storage", dir)

	t.Setenv("FURROW_MASTER_KEY_FILE", file)
	u = startUp(t, "--storage", dir, "--no-worker")
	if again := f.must("device key pump-7"); again != key || u.said.MasterKey != file {
		t.Errorf("with the key of %s, a device's key is %q, and was %q", u.said.MasterKey, again, key)
	}
	u.mustEnd(t)
	if strings.Contains(u.stderr.String(), "mv ") {
		t.Errorf("it says how to move a master key that was moved: %s", u.stderr)
	}
}

func TestMasterKeyFileOfANewFleetIsCreated(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "master.key")
	startUp(t, "--storage", dir, "--no-worker", "--master-key-file", file).mustEnd(t)
	if _, err := sas.ParseSealingKey(text(t, file)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "master.key")); err == nil {
		t.Error("there is another one in the data directory")
	}
}

func TestSecretsOnTheCommandLineAreWarnedOf(t *testing.T) {
	dir, key := t.TempDir(), "c2l4dGVlbiBieXRlcywgaw=="
	warns := func(stderr string) bool { return strings.Contains(stderr, "warning: --") }
	s := startStorage(t, "--data", dir, "--account-key", key, "--show-key")
	if !warns(s.stderr.String()) || !strings.Contains(s.stderr.String(), "set FURROW_ACCOUNT_KEY") {
		t.Errorf("of --account-key it says %q", s.stderr)
	}
	connection := s.said.ConnectionString
	_, _, errs := furrow(t.Context(), "device", "list", "--storage", connection)
	if !warns(errs) || !strings.Contains(errs, "--storage env:NAME") || strings.Contains(errs, key) {
		t.Errorf("of a connection string it says %q", errs)
	}
	ended, end := context.WithCancel(t.Context()) // it warns before it asks a host that may not be there
	end()
	_, _, errs = furrow(ended, "device", "list", "--storage", "https://x.table.core.windows.net/?sv=1&sig=abc")
	if !warns(errs) {
		t.Errorf("of a SAS it says %q", errs)
	}
	t.Setenv("FURROW_STORAGE", connection)
	t.Setenv("NAME", connection)
	for _, line := range []string{"device list", "device list --storage env:NAME", "device list --storage " + dir} {
		if _, _, errs := furrow(t.Context(), strings.Fields(line)...); warns(errs) {
			t.Errorf("%s: %s", line, errs)
		}
	}
	s.mustEnd(t)
	t.Setenv("FURROW_ACCOUNT_KEY", key)
	s = startStorage(t, "--data", dir)
	if s.mustEnd(t); warns(s.stderr.String()) {
		t.Errorf("of FURROW_ACCOUNT_KEY it says %q", s.stderr)
	}
}
