package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"
)

func TestNewerDirectoryIsRefusedAndLeftUnchanged(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]error{"2\n": ErrNewer, "99": ErrNewer} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, formatFile), []byte(text), 0o600))
		_, err := Open(Config{Dir: dir})
		if says := "it has format " + strings.TrimSpace(text) +
			", and this program reads formats up to 1"; !errors.Is(err, want) ||
			!strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), says) {
			t.Errorf("format %q: %v", text, err)
		}
		if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
			t.Errorf("there is %v, %v", names, err)
		}
	}
	must.Succeed(t, os.WriteFile(filepath.Join(dir, formatFile), []byte("one"), 0o600))
	if _, err := Open(Config{Dir: dir}); err == nil || errors.Is(err, ErrNewer) || !strings.Contains(err.Error(),
		formatFile) {
		t.Errorf("what is no number: %v", err)
	}
}

func TestNewDirectoryRecordsItsFormat(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		s := must.Have(Open(Config{Dir: dir}))(t)
		must.Succeed(t, s.Close())
		if text, err := os.ReadFile(filepath.Join(dir, formatFile)); err != nil || string(text) != "1\n" {
			t.Errorf("it says %q, %v", text, err)
		}
	}
}
