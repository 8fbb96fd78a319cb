package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"furrow/tables/local"
)

// TestStorageTellsWhatItHas while it is served and afterwards, and which file is damaged.
func TestStorageTellsWhatItHas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startStorage(t, "--data", dir)
	f := fixtureIn(t, dir)
	f.seed(3, 90)
	stats := f.must("storage stats")
	if !regexp.MustCompile(`(?m)^ +270 +\d+ KiB +readings$`).MatchString(stats) || !strings.Contains(stats, "on disk") {
		t.Errorf("it has\n%s", stats)
	}
	served := jsonOf[local.Inspection](t, f.must("storage stats --json"))[0]
	if out := f.must("storage check"); !strings.Contains(out, "No problems: 276 rows of ") {
		t.Errorf("the check says %s", out)
	}
	s.mustEnd(t)
	unserved := jsonOf[local.Inspection](t, f.must("storage check --json --data", dir))[0]
	if has, had := allRows(unserved.Tables), allRows(served.Tables); has != had {
		t.Errorf("unserved it has %d rows, and had %d", has, had)
	}
	refused(t, exitFailed, "is not a storage directory", "storage check --data "+filepath.Join(dir, "db"))
	refused(t, exitUsage, "--data and --storage mean the same", "storage check --data "+dir+" --storage "+t.TempDir())
	damage(t, dir)
	code, out, errs := f.run("storage check")
	if code != exitFailed || !strings.Contains(out, "the database cannot be read further") ||
		!strings.Contains(errs, "problems: restore the newest backup") {
		t.Errorf("of a damaged directory it says %s%s", out, errs)
	}
	if strings.Contains(out+errs, "stack") {
		t.Errorf("nobody reads this: %s%s", out, errs)
	}
}

// damage changes the middle of the largest file of a database.
func damage(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "db", "*.sst"))
	must(t, err)
	var name string
	var text []byte
	for _, file := range files {
		content, err := os.ReadFile(file)
		must(t, err)
		if len(content) > len(text) {
			name, text = file, content
		}
	}
	if name == "" {
		t.Fatal("the database has no file yet")
	}
	text[len(text)/4] ^= 1
	must(t, os.WriteFile(name, text, 0o600))
}
