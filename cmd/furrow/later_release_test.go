package main

import (
	"path/filepath"
	"testing"

	"furrow/tables"
)

// TestUpRefusesTheDirectoryOfALaterRelease makes a directory look as a later release would leave it: with files, or
// with keys, of a form that this one does not know. Nothing in it changes, and it works again as it was.
func TestUpRefusesTheDirectoryOfALaterRelease(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	up := "up --listen 127.0.0.1:0 --storage-port 0 --no-dashboard --storage " + dir
	u := startUp(t, "--storage", dir, "--no-dashboard")
	f := fixtureIn(t, dir)
	f.must("enrollment add plant1 --tenant contoso")
	u.mustEnd(t)

	writeFile(t, filepath.Join(dir, "format"), "2\n")
	refused(t, exitFailed, "it has format 2, and this program reads formats up to 1", up)
	refused(t, exitFailed, "run that version", up)
	writeFile(t, filepath.Join(dir, "format"), "1\n")

	layout := func(n int64) {
		served := startStorage(t, "--data", dir)
		e := tables.Entity{PartitionKey: "!layout", RowKey: "layout"}
		e.Set("Layout", tables.Int64(n))
		_, err := fixtureIn(t, dir).client.Table("fleet").Do(t.Context(), tables.InsertOrReplace(e))
		must(t, err)
		served.mustEnd(t)
	}
	layout(2)
	refused(t, exitFailed, "has layout 2, and this program knows layout 1", up)
	layout(1)
	u = startUp(t, "--storage", dir, "--no-dashboard")
	fixtureIn(t, dir).says("plant1", "enrollment list")
	u.mustEnd(t)
}
