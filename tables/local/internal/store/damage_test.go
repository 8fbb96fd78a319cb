package store

import (
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestDamagedLogIsReported: a store that was killed does not lose in silence what is behind a damaged byte of its log,
// also the first log of a new store.
func TestDamagedLogIsReported(t *testing.T) {
	disk := vfs.NewCrashableMem()
	for _, which := range []string{"first", "second"} {
		s, err := Open(disk, "db", 0, slog.New(slog.DiscardHandler))
		must(t, err)
		for i := range 1000 {
			b := s.Batch()
			b.Set(key(i), make([]byte, 200))
			must(t, s.Apply(b)())
		}
		killed := disk.CrashClone(vfs.CrashCloneCfg{})
		must(t, s.Close())
		names, err := killed.List("db")
		must(t, err)
		for _, name := range names {
			if strings.HasSuffix(name, ".log") {
				flip(t, killed, killed.PathJoin("db", name))
			}
		}
		s, err = Open(killed, "db", 0, slog.New(slog.DiscardHandler))
		if err == nil {
			must(t, s.Close())
		}
		if err == nil || !strings.Contains(err.Error(), "restore the newest backup") {
			t.Errorf("with a damaged byte in the %s log: %v", which, err)
		}
	}
}

// flip changes a bit in the middle of a file.
func flip(t *testing.T, fs vfs.FS, name string) {
	t.Helper()
	f, err := fs.Open(name)
	must(t, err)
	text, err := io.ReadAll(f)
	must(t, err, f.Close())
	text[len(text)/2] ^= 1
	f, err = fs.Create(name, vfs.WriteCategoryUnspecified)
	must(t, err)
	_, err = f.Write(text)
	must(t, err, f.Sync(), f.Close())
}

// TestWalkFindsADamagedByte in any place of a file's first half, where its values are.
func TestWalkFindsADamagedByte(t *testing.T) {
	dir := t.TempDir()
	open := func() *Store {
		s, err := Open(vfs.Default, filepath.Join(dir, "db"), 0, slog.New(slog.DiscardHandler))
		must(t, err)
		return s
	}
	s := open()
	b := s.Batch()
	for i := range 1000 {
		value := make([]byte, 100)
		for j := range value {
			value[j] = byte(rand.Uint32())
		}
		b.Set(key(i), value)
	}
	must(t, s.Apply(b)(), s.db.Flush(), s.Close())
	files, err := filepath.Glob(filepath.Join(dir, "db", "*.sst"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	must(t, err)
	at := rand.IntN(len(text) / 2)
	t.Logf("byte %d of %d", at, len(text))
	text[at] ^= 1
	must(t, os.WriteFile(files[0], text, 0o600))
	s = open()
	defer s.Close()
	snapshot := s.Snapshot()
	defer snapshot.Close()
	for _, err := range snapshot.Walk([]byte{0}, []byte{0xff}) {
		if err != nil {
			return
		}
	}
	t.Error("the damage was not found")
}
