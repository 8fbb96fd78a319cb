package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"furrow/jobs/archive"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model"
)

// archived changes a row in the catalog of the archive, or deletes it. It returns a function that undoes this.
func (f *fixture) archived(row string, change func(*tables.Entity) bool) (undo func()) {
	f.t.Helper()
	sum := sha256.Sum256([]byte(schema.Tenant("acme").Key() + "!readings"))
	catalog, key := f.client.Table(f.names.Catalog()), hex.EncodeToString(sum[:16])
	for e, err := range catalog.Entities(f.t.Context(), tables.Query{Range: tables.Range{Partitions: tables.Is(key),
		Rows: tables.KeysWithPrefix(row)}}) {
		must(f.t, err)
		was := tables.Entity{PartitionKey: e.PartitionKey, RowKey: e.RowKey, Properties: slices.Clone(e.Properties)}
		op := tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag)
		if change(&e) {
			op = tables.Replace(e, tables.AnyETag)
		}
		do := func(op tables.Op) {
			_, err := catalog.Do(f.t.Context(), op)
			must(f.t, err)
		}
		do(op)
		return func() { do(tables.InsertOrReplace(was)) }
	}
	f.t.Fatalf("the catalog has no row %s", row)
	return nil
}

// TestVerifyReadsTheFilesOfTheArchive: a lost file, one that the catalog has forgotten, and one with rows of another
// tenant are named with tenant, device and time.
func TestVerifyReadsTheFilesOfTheArchive(t *testing.T) {
	t.Parallel()
	f, yesterday := newArchivedFixture(t)
	file := filepath.Join(t.TempDir(), "furrow.yaml")
	writeFile(t, file, strings.Replace(archiveOfHours, "cadence: 1s", "cadence: 1s, settle: 1s", 1))
	f.must("config apply", file)
	f.must("archive rewrite --from", (yesterday - 20).String())
	verify := func(code int, want ...string) {
		t.Helper()
		is, out, errs := f.run("verify --tenant acme --pipeline live --values")
		for _, text := range want {
			if is != code || !strings.Contains(out, text) {
				t.Errorf("exit %d, want %d and %q:\n%s%s", is, code, text, out, errs)
			}
		}
	}
	verify(exitOK, "  archived ")
	day := yesterday.String()
	undo := f.archived("f!"+day, func(*tables.Entity) bool { return false })
	verify(exitFailed, "live archive files "+day+": unexplained; 0 readings in 0 files instead of "+
		"48 readings")
	undo()

	account, err := tables.ParseAccount(text(t, filepath.Join(f.storage, "connection")))
	must(t, err)
	store, err := archive.Connect(archive.StoreConfig{Account: account, Container: f.names.Archive()})
	must(t, err)
	path := jsonOf[model.ArchiveFile](t, f.must("archive files --tenant acme --json --from", day, "--to",
		(yesterday+1).String()))[0].Path
	content, etag, err := store.Get(t.Context(), path)
	must(t, err)
	put := func(content []byte) {
		t.Helper()
		_, etag, err = store.Get(t.Context(), path)
		must(t, err)
		must(t, store.Put(t.Context(), path, content, etag))
	}
	var foreign bytes.Buffer
	w := columnar.NewReadings(&foreign, nil)
	key := schema.RowKey{Ticks: yesterday.Start() + tables.Hour}
	must(t, w.Write("globex:7", nil, &fold.Sample{Key: key}))
	must(t, w.Close())
	put(foreign.Bytes())
	verify(exitFailed, "globex:7 live archive files "+day+"T01:00:00Z: unexplained; there instead of "+
		"absent: the tenant has no such device", "acme:0 live archive files "+day+"T00:",
		"absent instead of there, as row ")

	twice := bytes.Buffer{}
	w = columnar.NewReadings(&twice, nil)
	for range 2 {
		must(t, w.Write(string(f.devices[0].ID), nil, &fold.Sample{Key: key}))
	}
	must(t, w.Close())
	put(twice.Bytes())
	if _, out, _ := f.run("verify --tenant acme --pipeline live --values --json"); !strings.Contains(out,
		`"at":"`+day+`T01:00:00Z","is":"there twice"`) {
		t.Errorf("a reading that is there twice is\n%s", out)
	}
	put([]byte("PAR1 is no file"))
	verify(exitFailed, "unexplained; damaged: ", "acme:0 live archive files ")
	put(content)
	verify(exitOK, "  archived ")
	must(t, store.Delete(t.Context(), path))
	verify(exitFailed, "live archive files "+day+": unexplained; without file readings/date="+day)
}

// TestVerifyEstimatesItsRequests before it begins, with those of the archive: at most half as many too many or too few.
func TestVerifyEstimatesItsRequests(t *testing.T) {
	t.Parallel()
	f, yesterday := newArchivedFixture(t)
	f.must("archive rewrite --from", (yesterday - 20).String())
	for _, what := range []string{"--all", "--all --values", "acme:0 --values"} {
		code, out, errs := f.run("verify --pipeline live --json " + what)
		said := regexp.MustCompile(`about ([0-9,]+) requests? of tables`).FindStringSubmatch(errs)
		did := regexp.MustCompile(`"requests":([0-9]+)`).FindStringSubmatch(out)
		if code != exitOK || said == nil || did == nil {
			t.Fatalf("%s: exit %d\n%s%s", what, code, out, errs)
		}
		about, err := strconv.ParseFloat(strings.ReplaceAll(said[1], ",", ""), 64)
		must(t, err)
		is, err := strconv.ParseFloat(did[1], 64)
		if must(t, err); about < 0.5*is || about > 1.5*is {
			t.Errorf("%s: about %v requests, and %v were made", what, about, is)
		}
	}
}

// TestVerifyCountsTheArchive: what lags is explained, and what is lost or doubled is named with tenant and day.
func TestVerifyCountsTheArchive(t *testing.T) {
	t.Parallel()
	f, yesterday := newArchivedFixture(t)
	file := filepath.Join(t.TempDir(), "furrow.yaml") // rows count as archived once their settle time was over
	writeFile(t, file, strings.Replace(archiveOfHours, "cadence: 1s", "cadence: 1s, settle: 1s", 1))
	f.must("config apply", file)
	f.must("archive rewrite --from", (yesterday - 20).String())
	name := yesterday.String()
	verify := func(code int, want ...string) {
		t.Helper()
		is, out, errs := f.run("verify --tenant acme --pipeline live")
		for _, text := range want {
			if is != code || !strings.Contains(out, text) {
				t.Errorf("exit %d, want %d and %q:\n%s%s", is, code, text, out, errs)
			}
		}
	}
	verify(exitOK, "  archived ", "100 % of what was due was folded.")
	set := func(rows int64) func(*tables.Entity) bool {
		return func(e *tables.Entity) bool {
			e.Set("Rows", tables.Int64(rows))
			return true
		}
	}
	line := "live archived " + name + ": "
	undo := f.archived("d!"+name, set(47))
	verify(exitFailed, line+"unexplained; 47 instead of 48 readings")
	f.archived("d!"+name, set(49))
	verify(exitFailed, line+"unexplained; 49 instead of 48 readings")
	f.archived("d!"+name, func(*tables.Entity) bool { return false })
	verify(exitFailed, line+"unexplained; 0 instead of 48 readings")

	mark := schema.Mark{Month: schema.Month{Year: 2026, Month: 11}, Kind: schema.ArchiveMark, Tenant: "acme", Name: name}
	_, err := f.client.Table(f.names.Partitions("live")).Do(t.Context(), tables.InsertOrReplace(mark.Entity()))
	must(t, err)
	verify(exitOK, line+"waits for the archive; 0 instead of 48")
	undo()
	_, err = f.client.Table(f.names.Partitions("live")).Do(t.Context(), tables.Delete(mark.Month.String(), mark.Key(),
		tables.AnyETag))
	must(t, err)
	verify(exitOK, "100 % of what was due was folded.")

	late := reading(f.devices[0].ID, yesterday.Start().Time().Add(100), 1)
	_, err = f.client.Table(f.names.Readings()).Do(t.Context(), tables.Insert(late))
	must(t, err)
	verify(exitOK, line+"late and waiting; 48 instead of 49 readings")
	f.must("archive rewrite --from", name)
	f.must("device remove", string(f.devices[1].ID), "--yes")
	verify(exitOK, "left the fleet; ")
}
