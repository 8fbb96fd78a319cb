package store

import (
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

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
