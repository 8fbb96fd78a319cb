package backup

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

// files are those of an archive, and of the storage directory that wrote it.
func files() []string {
	return []string{"format", "account.key", "db/CURRENT", "db/000007.sst", "blobs/0a1b"}
}

func archive(t *testing.T, taken time.Time) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range files() {
		text := []byte(strings.Repeat(name, 300))
		must.Succeed(t, w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o600, ModTime: taken,
			Format: tar.FormatPAX}))
		must.Have(w.Write(text))(t)
	}
	must.Succeed(t, w.Close())
	return b.Bytes()
}

// storage returns a directory with a master key and certificates.
func storage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "tls"), 0o700))
	for _, name := range []string{"master.key", "tls/ca.pem", "connection"} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600))
	}
	return dir
}

func take(t *testing.T) (dir string, m Manifest) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "a", "b")
	taken := time.Date(2026, 11, 22, 20, 0, 0, 123456789, time.UTC)
	m = must.Have(Take(dir, bytes.NewReader(archive(t, taken)), storage(t), []string{"master.key", "tls", "none"}))(t)
	if !m.Taken.Equal(taken) {
		t.Errorf("taken at %v, want %v", m.Taken, taken)
	}
	return dir, m
}

func noPreparation(string) error { return nil }

func asItIs(r io.Reader) io.Reader { return r }

func TestRestoredDirectoryEqualsTheBackup(t *testing.T) {
	dir, m := take(t)
	to := filepath.Join(t.TempDir(), "restored")
	got := must.Have(Restore(dir, to, asItIs, noPreparation))(t)
	if len(got.Files) != len(m.Files) || !got.Taken.Equal(m.Taken) {
		t.Errorf("restored %+v, want %+v", got, m)
	}
	for _, name := range append(files(), "master.key", "tls/ca.pem") {
		want := name
		if name != "master.key" && name != "tls/ca.pem" {
			want = strings.Repeat(name, 300)
		}
		if text, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(text) != want {
			t.Errorf("%s: %.20q, %v", name, text, err)
		}
	}
	if _, err := os.Stat(filepath.Join(to, "connection")); err == nil {
		t.Error("the connection of the former server was restored")
	}
	if info := must.Have(os.Stat(to))(t); info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	dir, _ := take(t)
	if _, err := Take(dir, bytes.NewReader(archive(t, time.Now())), "", nil); err == nil ||
		!strings.Contains(err.Error(), "exists already") {
		t.Errorf("a backup over another one: %v", err)
	}
	must.Have(Read(dir))(t) // it is as it was
	to := storage(t)
	_, err := Restore(dir, to, asItIs, noPreparation)
	if err == nil || !strings.Contains(err.Error(), "overwrites nothing") {
		t.Errorf("restoring over a directory: %v", err)
	}
	if all := must.Have(os.ReadDir(to))(t); len(all) != 3 {
		t.Errorf("%d files are left of 3", len(all))
	}
}

// TestFailedBackupLeavesAnEmptyDirectoryAsItWas: it may be a disk that is mounted there, or have another owner.
func TestFailedBackupLeavesAnEmptyDirectoryAsItWas(t *testing.T) {
	dir := t.TempDir()
	before := must.Have(os.Stat(dir))(t)
	if _, err := Take(dir, bytes.NewReader(archive(t, time.Now())[:2000]), storage(t), nil); err == nil {
		t.Error("a backup of half an archive")
	}
	if after, err := os.Stat(dir); err != nil || !os.SameFile(before, after) {
		t.Error("the directory was removed:", err)
	} else if all := must.Have(os.ReadDir(dir))(t); len(all) != 0 {
		t.Errorf("it has %v", all)
	}
}

// TestTwoBackupsToOneDirectoryAtOnceLeaveOne: the second one begins before the first has written a file.
func TestTwoBackupsToOneDirectoryAtOnceLeaveOne(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "new")} {
		all := archive(t, time.Now())
		begins := readerFunc(func([]byte) (int, error) {
			if _, err := Take(dir, bytes.NewReader(all), storage(t), nil); err == nil ||
				!strings.Contains(err.Error(), "exists already") {
				t.Error("the second one:", err)
			}
			return 0, io.EOF
		})
		must.Have(Take(dir, io.MultiReader(begins, bytes.NewReader(all)), storage(t), nil))(t)
		must.Have(Restore(dir, filepath.Join(t.TempDir(), "restored"), asItIs, noPreparation))(t)
	}
}

// TestKilledBackupIsNone takes away what a backup writes last, one file more each time.
func TestKilledBackupIsNone(t *testing.T) {
	dir, m := take(t)
	names := []string{manifestFile}
	for _, f := range m.Files {
		names = append([]string{f.Name}, names...)
	}
	for len(names) > 0 {
		last := names[len(names)-1]
		must.Succeed(t, os.Remove(filepath.Join(dir, last)))
		names = names[:len(names)-1]
		to := filepath.Join(t.TempDir(), "restored")
		if _, err := Restore(dir, to, asItIs, noPreparation); !errors.Is(err, ErrIncomplete) {
			t.Errorf("without %s and what follows: %v", last, err)
		}
		mustBeEmpty(t, filepath.Dir(to))
	}
}

func mustBeEmpty(t *testing.T, dir string) {
	t.Helper()
	if left := must.Have(os.ReadDir(dir))(t); len(left) > 0 {
		t.Errorf("%s has %v", dir, left)
	}
}

// TestBackupHasTheKeysOfItsTables: the master key is replaced completely while a backup is written, so what storage has
// sent is sealed with the former one. Storage without a master key gets one.
func TestBackupHasTheKeysOfItsTables(t *testing.T) {
	for _, first := range []bool{false, true} {
		dir, from := filepath.Join(t.TempDir(), "b"), storage(t)
		if first {
			must.Succeed(t, os.Remove(filepath.Join(from, "master.key")))
		}
		changed := readerFunc(func([]byte) (int, error) {
			must.Succeed(t, os.WriteFile(filepath.Join(from, "master.key"), []byte("new"), 0o600))
			return 0, io.EOF
		})
		sent := io.MultiReader(bytes.NewReader(archive(t, time.Now())), changed)
		_, err := Take(dir, sent, from, []string{"master.key", "tls"})
		if !errors.Is(err, errChanged) {
			t.Errorf("the backup has one master key, and its tables another: %v", err)
		}
		mustBeEmpty(t, filepath.Dir(dir))
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestArchiveCutOffLeavesNothing(t *testing.T) {
	whole := archive(t, time.Now())
	for n := 0; n < len(whole)-1024; n += 511 { // the end is 1,024 zeros
		parent := t.TempDir()
		cut := &broken{bytes.NewReader(whole[:n])}
		if _, err := Take(filepath.Join(parent, "b"), cut, "", nil); !errors.Is(err, errBroken) {
			t.Errorf("after %d of %d bytes: %v", n, len(whole), err)
		}
		mustBeEmpty(t, parent)
	}
}

var errBroken = errors.New("the connection broke")

// A broken reader fails at its end.
type broken struct{ *bytes.Reader }

func (b *broken) Read(p []byte) (int, error) {
	if b.Len() == 0 {
		return 0, errBroken
	}
	return b.Reader.Read(p)
}

// TestDamagedBackupIsRefused changes each file, and the manifest.
func TestDamagedBackupIsRefused(t *testing.T) {
	dir, m := take(t)
	names := []string{manifestFile}
	for _, f := range m.Files {
		names = append(names, f.Name)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		whole := must.Have(os.ReadFile(path))(t)
		for _, text := range [][]byte{whole[:len(whole)-1], append([]byte("x"), whole[1:]...), {}} {
			if name == manifestFile && len(text) == len(whole)-1 {
				continue // only its last newline is missing
			}
			must.Succeed(t, os.WriteFile(path, text, 0o600))
			to := filepath.Join(t.TempDir(), "restored")
			if _, err := Restore(dir, to, asItIs, noPreparation); err == nil {
				t.Errorf("%s with %d bytes of %d was restored", name, len(text), len(whole))
			}
			mustBeEmpty(t, filepath.Dir(to))
		}
		must.Succeed(t, os.WriteFile(path, whole, 0o600))
	}
	must.Have(Restore(dir, filepath.Join(t.TempDir(), "restored"), asItIs, noPreparation))(t)
}

func TestFailedPreparationRestoresNothing(t *testing.T) {
	dir, _ := take(t)
	to := filepath.Join(t.TempDir(), "restored")
	if _, err := Restore(dir, to, asItIs, func(string) error { return errBroken }); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	mustBeEmpty(t, filepath.Dir(to))
}

func TestNewerAndForeignManifestsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"version": 2, "files": [{"name": "format"}]}`:        "has version 2",
		`{"version": 1, "files": [{"name": "../../passwd"}]}`:  "outside of the backup",
		`{"version": 1, "files": [{"name": "/etc/passwd"}]}`:   "outside of the backup",
		`{"version": 1, "files": []}`:                          "lists nothing",
		`{"version": 1, "files": [{"name": "db/x", "size": 1}`: "unexpected end",
	} {
		dir := t.TempDir()
		must.Succeed(t, os.WriteFile(filepath.Join(dir, manifestFile), []byte(text), 0o600))
		if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestOldBackupsAndUnfinishedOnesAreRemoved(t *testing.T) {
	folder := t.TempDir()
	at := time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC)
	for i := range 4 {
		taken := at.Add(time.Duration(i) * time.Hour)
		must.Have(Take(filepath.Join(folder, Name(taken)), bytes.NewReader(archive(t, taken)), "", nil))(t)
	}
	must.Succeed(t, os.Remove(filepath.Join(folder, Name(at.Add(2*time.Hour)), manifestFile)))
	for _, other := range []string{"photos", "furrow-old", Name(at) + ".keep"} {
		must.Succeed(t, os.Mkdir(filepath.Join(folder, other), 0o700))
	}
	now := at.Add(4 * time.Hour)
	must.Succeed(t, Prune(folder, 2, now))
	complete, begun, err := List(folder, now)
	want := []time.Time{at.Add(time.Hour), at.Add(3 * time.Hour)}
	if err != nil || len(begun) > 0 || fmt.Sprint(complete) != fmt.Sprint(want) {
		t.Errorf("complete %v, begun %v, %v; want %v", complete, begun, err, want)
	}
	if all := must.Have(os.ReadDir(folder))(t); len(all) != 5 {
		t.Errorf("%d entries are left, want 2 backups and 3 that are not", len(all))
	}
}

// TestBackupsOfAWrongClockGoFirst: one that was ahead, and is right again, or one that is behind now. What is written
// now is newer in either case.
func TestBackupsOfAWrongClockGoFirst(t *testing.T) {
	folder := t.TempDir()
	now := time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC)
	write := func(at time.Time) {
		must.Have(Take(filepath.Join(folder, Name(at)), bytes.NewReader(archive(t, at)), "", nil))(t)
	}
	keeps := func(want ...time.Time) {
		t.Helper()
		must.Succeed(t, Prune(folder, 2, now))
		if complete, _, err := List(folder, now); err != nil || fmt.Sprint(complete) != fmt.Sprint(want) {
			t.Errorf("complete %v, %v; want %v", complete, err, want)
		}
	}
	ahead, later := now.AddDate(3, 0, 0), now.Add(time.Hour)
	write(ahead)
	write(ahead.Add(time.Hour))
	write(now)
	keeps(ahead.Add(time.Hour), now)
	write(later)
	now = later
	keeps(now.Add(-time.Hour), now)
}

// TestStorageOfAnotherMachineHasNoFilesHere: what the working directory has is of others.
func TestStorageOfAnotherMachineHasNoFilesHere(t *testing.T) {
	t.Chdir(storage(t))
	dir := filepath.Join(t.TempDir(), "saved")
	m := must.Have(Take(dir, bytes.NewReader(archive(t, time.Now())), "", []string{"master.key", "tls"}))(t)
	if m.Has("master.key") || len(m.Files) != len(files()) {
		t.Errorf("the backup has %+v", m.Files)
	}
}
