package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"furrow/worker/dashboard/model"
)

// downloadedFiles returns the files below a directory, by their path in the container of the archive.
func downloadedFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*", "date=*", "*"))
	must(t, err)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		must(t, err)
		name, err := filepath.Rel(dir, path)
		must(t, err)
		all[filepath.ToSlash(name)] = string(content)
	}
	return all
}

// downloads the archive by the command, and from the dashboard by somebody of the tenant; nobody else gets a file.
func (f *fixture) downloads() {
	f.t.Helper()
	dir := f.t.TempDir()
	download := func() downloadedLine {
		f.t.Helper()
		return jsonOf[downloadedLine](f.t, f.must("archive download --tenant acme --json", dir))[0]
	}
	first := download()
	files := downloadedFiles(f.t, dir)
	if first.Written != first.Files || int(first.Files) != len(files) || first.Files < 15 || first.Deleted != 0 {
		f.t.Fatalf("%+v, and %d files", first, len(files))
	}
	var some string
	for some = range files {
		break
	}
	writeFile(f.t, filepath.Join(dir, filepath.Dir(some), "left.parquet"), "it left the table")
	stays := []string{filepath.Join(dir, "acme", "readings", "mine.parquet"),
		filepath.Join(dir, "acme", "mine", "date=2025-11-20", "mine.parquet")}
	goes := []string{filepath.Join(dir, filepath.Dir(some), "interrupted.parquet.part"),
		filepath.Join(dir, "acme", "rollups-15m", "date=2025-11-20", "of a table that was removed.parquet")}
	for _, path := range append(goes, stays...) {
		must(f.t, os.MkdirAll(filepath.Dir(path), 0o755))
		writeFile(f.t, path, "content")
	}
	if again := download(); again.Written != 0 || again.Deleted != 2 || again.Bytes != first.Bytes {
		f.t.Errorf("again: %+v", again)
	}
	for _, path := range stays {
		_, err := os.Stat(path)
		must(f.t, err)
	}
	for _, path := range goes {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			f.t.Errorf("%s is still there: %v", path, err)
		}
	}
	f.refused(exitUsage, "--tenant is required", "archive download", dir)
	f.refused(exitFailed, `no table "nosuch"`, "archive download --tenant acme --table nosuch", dir)
	f.refused(exitFailed, `no device belongs to tenant "nobody"`, "archive download --tenant nobody", dir)

	own := strings.TrimSpace(f.must("access add ann --role viewer --tenant acme"))
	other := strings.TrimSpace(f.must("access add eve --role viewer --tenant other"))
	d := startDashboard(f.t, "--storage", f.storage)
	defer d.mustEnd(f.t)
	n, v1 := 0, d.said.Dashboard+"v1/"
	for _, table := range []string{"", "rollups-1h", "rollups-1d", "reports-1h", "reports-1d"} {
		var found model.ArchiveFiles
		for after, parts := "", 0; parts == 0 || after != ""; parts++ {
			found.Rows, found.Next = nil, ""
			must(f.t, json.Unmarshal([]byte(get(f.t, http.DefaultClient, v1+"archive/files?limit=2&table="+table+"&after="+after,
				own)), &found))
			for _, file := range found.Rows {
				n++
				if got := get(f.t, http.DefaultClient, v1+"archive/file?path="+url.QueryEscape(file.Path), own); got !=
					files[file.Path] || int64(len(got)) != file.Bytes {
					f.t.Errorf("%s has %d bytes, want %d", file.Path, len(got), len(files[file.Path]))
				}
			}
			after = found.Next
		}
	}
	if n != len(files) {
		f.t.Errorf("the dashboard has %d files, want %d", n, len(files))
	}
	for address, want := range map[string]int{"archive/file?path=" + url.QueryEscape(some): http.StatusNotFound,
		"archive/files?tenant=acme": http.StatusNotFound, "archive/files": http.StatusOK} {
		if status, body := ask(f.t, http.DefaultClient, v1+address, other); status != want {
			f.t.Errorf("%s for somebody of another tenant: %d %s", address, status, body)
		}
	}
	const log = "acme/readings/_delta_log/00000000000000000000.json"
	for _, path := range []string{log, "acme/../acme/x.parquet", "", "x"} {
		if status, body := ask(f.t, http.DefaultClient, v1+"archive/file?path="+url.QueryEscape(path), own); status !=
			http.StatusNotFound {
			f.t.Errorf("%q: %d %s", path, status, body)
		}
	}
	f.must("access remove ann")
	f.must("access remove eve")
}
