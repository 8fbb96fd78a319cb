package setup

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/certificates"
	"furrow/tables/azuretest/must"
)

// TestMasterKeyComesFromTheFirstSourceThatIsGiven goes from the directory to the variable to a file.
func TestMasterKeyComesFromTheFirstSourceThatIsGiven(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "key")
	t.Setenv(MasterVariable, "")
	seen := map[string]bool{}
	for _, c := range []struct{ file, variable, want string }{
		{"", "", filepath.Join(dir, MasterFile)},
		{"", sas.NewSealingKey().Base64(), MasterVariable},
		{file, sas.NewSealingKey().Base64(), file},
	} {
		t.Setenv(MasterVariable, c.variable)
		key, source, err := OpenMaster(c.file, dir, true)
		if err != nil || source != c.want || seen[key.Base64()] {
			t.Errorf("%+v: from %s, %v; want another key from %s", c, source, err, c.want)
		}
		if again, _, err := OpenMaster(c.file, dir, false); err != nil || again.Base64() != key.Base64() {
			t.Errorf("%+v: another key is read back, %v", c, err)
		}
		seen[key.Base64()] = true
	}
}

func TestMasterKeyIsReadAgainWhenItsFileChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	put := func(text string) { certificates.Replace(t, file, []byte(text)) }
	first, second := sas.NewSealingKey(), sas.NewSealingKey()
	put(first.Base64())
	now := must.Have(FollowMaster(file, quiet()))(t)
	want := func(what string, key sas.SealingKey) {
		t.Helper()
		if now().Base64() != key.Base64() {
			t.Errorf("%s: it is another key", what)
		}
	}
	want("at the start", first)
	put("half a key")
	want("after a broken write", first)
	must.Succeed(t, os.Remove(file))
	want("without the file", first)
	put(second.Base64())
	want("after a change", second)
	if runtime.GOOS != "windows" {
		put(first.Base64())
		must.Succeed(t, os.Chmod(file, 0o644))
		want("after a change to a file that others may read", second)
		must.Succeed(t, os.Chmod(file, 0o600))
		want("after its mode was corrected", first)
	}
}

func TestMissingMasterKeyIsCreatedOnlyOnRequest(t *testing.T) {
	t.Setenv(MasterVariable, "")
	dir := t.TempDir()
	if _, _, err := OpenMaster("", dir, false); err == nil || !strings.Contains(err.Error(), "restore it from a backup") {
		t.Errorf("a directory without a key: %v", err)
	}
	if _, _, err := OpenMaster("", "", true); err == nil || !strings.Contains(err.Error(), MasterVariable) {
		t.Errorf("an account without a key: %v", err)
	}
	if files := must.Have(os.ReadDir(dir))(t); len(files) != 0 {
		t.Errorf("there is %v", files)
	}
	t.Setenv(MasterVariable, "short")
	if _, _, err := OpenMaster("", dir, true); err == nil || !strings.Contains(err.Error(), MasterVariable) {
		t.Errorf("a wrong key in the variable: %v", err)
	}
}

// TestConcurrentStartsShareOneMasterKey has several processes create the file at the same time.
func TestConcurrentStartsShareOneMasterKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), MasterFile)
	keys := make([]string, 8)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			key, err := openMasterFile(file, true)
			if keys[i] = key.Base64(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, key := range keys {
		if key != keys[0] {
			t.Error("two processes have different keys")
		}
	}
	if files := must.Have(os.ReadDir(filepath.Dir(file)))(t); len(files) != 1 {
		t.Errorf("there is %v", files)
	}
}

func TestSecretThatOthersMayReadIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if _, err := ReadSecret(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	must.Succeed(t, os.WriteFile(file, []byte(" hidden\n"), 0o600))
	if text, err := ReadSecret(file); text != "hidden" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620} {
		must.Succeed(t, os.Chmod(file, mode))
		if _, err := ReadSecret(file); err == nil || !strings.Contains(err.Error(), "chmod 600") ||
			strings.Contains(err.Error(), "hidden") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

func TestDirectoryIsFoundWhileItIsServed(t *testing.T) {
	dir := t.TempDir()
	_, err := Find(dir)
	if !errors.Is(err, ErrNotServed) || !strings.Contains(err.Error(), "furrow up --storage "+dir) {
		t.Errorf("a directory that nobody serves: %v", err)
	}
	if _, err := Find(dir + "/absent"); !errors.Is(err, ErrNotServed) ||
		!strings.Contains(err.Error(), "there is no such directory") {
		t.Errorf("a directory that does not exist: %v", err)
	}
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	account := PathStyle("http", "furrow", "a2V5", "127.0.0.1:1", "127.0.0.1:2", l.Addr().String())
	must.Succeed(t, WriteConnection(dir, account))
	if got := string(must.Have(os.ReadFile(filepath.Join(dir, connectionFile)))(t)); got != ConnectionString(account) {
		t.Errorf("the file has %q, which an SDK does not take as it is", got)
	}
	found, err := Find(dir)
	if err != nil || found.Account != account || found.CAFile != "" {
		t.Errorf("it is %+v, %v", found, err)
	}
	if mode := must.Have(os.Stat(filepath.Join(dir, connectionFile)))(t).Mode().Perm(); mode != 0o600 {
		t.Errorf("the file with the key has mode %o", mode)
	}
	must.Succeed(t, l.Close())
	if _, err := Find(dir); !errors.Is(err, ErrNotServed) || strings.Contains(err.Error(), "a2V5") {
		t.Errorf("after its server has ended: %v", err)
	}
}

func TestAuthorityIsFoundWithTLS(t *testing.T) {
	dir := t.TempDir()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	must.Succeed(t, WriteConnection(dir, PathStyle("https", "furrow", "a2V5", "a:1", "a:2", l.Addr().String())))
	if file := Authority(dir); file != "" {
		t.Errorf("it has no authority, and %s is named", file)
	}
	file := filepath.Join(dir, "tls", "ca.pem")
	must.Succeed(t, os.MkdirAll(filepath.Dir(file), 0o700))
	must.Succeed(t, os.WriteFile(file, nil, 0o600))
	if found := must.Have(Find(dir))(t); found.CAFile != file {
		t.Errorf("its authority is %s", found.CAFile)
	}
}

func TestStorageIsNamedInFourWays(t *testing.T) {
	const text = "AccountName=furrow;AccountKey=a2V5;TableEndpoint=http://127.0.0.1:1/furrow"
	want := must.Have(tables.ParseAccount(text))(t)
	t.Setenv("FURROW_TEST_STORED", text)
	for _, name := range []string{text, "env:FURROW_TEST_STORED"} {
		if found, err := Find(name); err != nil || found.Account != want || IsDirectory(name) {
			t.Errorf("%s is %+v, %v", name, found, err)
		}
	}
	if _, err := Find("env:FURROW_TEST_NOTHING"); err == nil || !strings.Contains(err.Error(), "FURROW_TEST_NOTHING") {
		t.Errorf("an empty variable: %v", err)
	}
	for name, want := range map[string]bool{"furrow-data": true, "/a/b": true, t.TempDir(): true, "": false,
		"https://a.example/": false} {
		if IsDirectory(name) != want {
			t.Errorf("%q is a directory: %v", name, !want)
		}
	}
}

func TestEndpointIsReadBack(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []string{"", "https://a.example:8443", "http://127.0.0.1:1"} {
		if want != "" {
			must.Succeed(t, WriteEndpoint(dir, want))
		}
		if got, err := Endpoint(dir); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}
