package archive_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/delta"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A readable is a copy of a table that others read, with what they should find.
type readable struct {
	Name, Folder string
	Rows         []map[string]string           // of the newest version
	Versions     map[int64][]map[string]string // of earlier ones; nil: it has ended, and nobody reads it
}

// readables are copies of tables in a folder.
type readables struct {
	dir string
	all []*readable
}

// add copies a table as its container is now.
func (r *readables) add(t *testing.T, name string, all map[string][]byte, root string,
	rows []map[string]any) *readable {
	t.Helper()
	dir := filepath.Join(r.dir, fmt.Sprint(len(r.all)))
	for path, content := range all {
		if strings.HasPrefix(path, root) {
			must.Succeed(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o700))
			must.Succeed(t, os.WriteFile(filepath.Join(dir, path), content, 0o600))
		}
	}
	one := &readable{Name: name, Folder: filepath.Join(dir, root), Rows: cells(rows),
		Versions: map[int64][]map[string]string{}}
	r.all = append(r.all, one)
	return one
}

// cells are rows as readers compare them: texts that begin with the type.
func cells(rows []map[string]any) []map[string]string {
	all := []map[string]string{}
	for _, row := range rows {
		one := map[string]string{}
		for name, v := range row {
			one[name] = cellOf(v)
		}
		all = append(all, one)
	}
	return all
}

func cellOf(v any) string {
	switch v := v.(type) {
	case bool:
		return fmt.Sprint("b:", v)
	case float64:
		if math.IsNaN(v) {
			return "d:nan"
		}
		return fmt.Sprintf("d:%016x", math.Float64bits(v))
	case int64:
		return fmt.Sprint("i:", v)
	case []byte:
		return "x:" + base64.StdEncoding.EncodeToString(v)
	case micros:
		return fmt.Sprint("t:", int64(v))
	case dated:
		return "D:" + string(v)
	case string:
		return "s:" + v
	}
	panic(fmt.Sprintf("a cell of %T", v))
}

// rowsIn returns the rows of files.
func rowsIn(t *testing.T, all map[string][]byte, paths ...string) (rows []map[string]any) {
	t.Helper()
	for _, path := range paths {
		_, date, _ := strings.Cut(path, "/date=")
		for _, row := range rowsOfFile(t, all[path]) {
			row["date"] = dated(date[:len("2026-11-20")])
			rows = append(rows, row)
		}
	}
	return rows
}

// liveRows returns the rows of the files that the catalog has live.
func liveRows(t *testing.T, all map[string][]byte, table *catalog.Table) []map[string]any {
	t.Helper()
	var paths []string
	for _, f := range must.Have(collected(table.AllFiles(t.Context())))(t) {
		paths = append(paths, table.Path(&f))
	}
	return rowsIn(t, all, paths...)
}

// withVersions has earlier versions compared, by what a log that is whole says of them.
func (r *readable) withVersions(t *testing.T, all map[string][]byte, root string) {
	t.Helper()
	live := delta.Live{}
	for n := int64(0); all[root+delta.VersionFile(n)] != nil; n++ {
		must.Succeed(t, live.Follow(all[root+delta.VersionFile(n)]))
		var paths []string
		for name := range live {
			paths = append(paths, root+name)
		}
		r.Versions[n] = cells(rowsIn(t, all, paths...))
	}
}

// sourceRows returns the readings of days as a table should have them, from the rows that storage has.
func (x *tablesFleet) sourceRows(t *testing.T, table *catalog.Table, days ...schema.Day) (rows []map[string]any) {
	t.Helper()
	names := must.Have(table.Columns(t.Context(), nil))(t)
	for _, e := range jobstest.Rows(t, x.World.Connect(t, nil).Table(x.Readings), tables.Query{}) {
		r, err := schema.ReadingOf(e)
		if err != nil || !slices.Contains(days, schema.DayOf(r.Key.Ticks)) ||
			x.World.Member(r.Device, "").Tenant != table.Tenant {
			continue
		}
		sample, _ := (&fold.Sensors{}).Sample(r)
		rows = append(rows, rowOf(names, e.PartitionKey, &sample))
	}
	return rows
}

// killedAt is a transport whose process is killed before the first request of a kind.
func killedAt(kill func(), at func(*http.Request) bool) faults.Func {
	dead := false
	return func(r *http.Request) (*http.Response, error) {
		if dead = dead || at(r); dead {
			kill()
			return nil, context.Canceled
		}
		return http.DefaultClient.Do(r)
	}
}

// filledTables adds the table with every value, and its versions.
func (r *readables) filledTables(t *testing.T) {
	t.Helper()
	x := filled(t)
	all := objects(t, x.account, x.container)
	r.add(t, "every value", all, x.Folder(), x.rows).withVersions(t, all, x.Folder())
}

// tenants adds tables of tenants with odd names, each with one reading.
func (r *readables) tenants(t *testing.T) {
	t.Helper()
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	at := schema.DayOf(tables.TicksOf(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)))
	for n, tenant := range []schema.Tenant{"contoso", "Contoso", "-x", "_delta_log", ".x.", "date=2026-11-20", "100 %",
		"a'b\"c", "[a]*?{b}", "~1", "@41", "größe 木", schema.Tenant(strings.Repeat("é", 64))} {
		x := newTableOf(t, account, "tenants", must.Have(schema.ParseTenant(string(tenant)))(t))
		one := sampleOf("d", at.Start().Time(), map[string]tables.Value{"n": tables.Double(float64(n))})
		x.put(t, at, func(catalog.File) bool { return false }, one)
		must.Have(x.Log(x.store).Publish(t.Context()))(t)
		x.expect(one)
		r.add(t, fmt.Sprintf("tenant %q", tenant), objects(t, x.account, x.container), x.Folder(), x.rows)
	}
}

// lives adds the tables of a tenant at many moments of their life.
func (r *readables) lives(t *testing.T) {
	t.Helper()
	x := newTables(t)
	m, day := x.maker(t, nil), x.day.Day
	table := m.Readings(x.day.Tenant)
	root := table.Folder()
	var before []map[string]any
	add := func(name string, days ...schema.Day) (*readable, map[string][]byte) {
		t.Helper()
		all := objects(t, x.World.Account, x.Names.Archive())
		before = x.sourceRows(t, table, days...)
		return r.add(t, name, all, root, before), all
	}
	sums := func(name string) {
		t.Helper()
		all := objects(t, x.World.Account, x.Names.Archive())
		for _, one := range m.Sums(x.day.Tenant) {
			rows := liveRows(t, all, one)
			if len(rows) == 0 {
				t.Errorf("%s: %s has no rows", name, one.Name)
			}
			r.add(t, name+", "+one.Name, all, one.Folder(), rows)
		}
	}
	late := func(n int, name string, v tables.Value) {
		t.Helper()
		one := tables.Entity{PartitionKey: string(x.World.Devices[0]),
			RowKey: fmt.Sprint(day.Start()+tables.Ticks(n), "-late")}
		one.Set(name, v)
		jobstest.Insert(t, x.World.Connect(t, nil).Table(x.Readings), one)
	}
	makeHours(t, m, x.day)
	add("hours of an open day", day)

	for n := range 3 { // whose sum no double holds
		late(n, "huge", tables.Double(math.MaxFloat64))
	}
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	one, all := add("a day in place of its hours", day)
	sums("a day in place of its hours")

	for n, what := range []struct {
		name string
		at   func() func(*http.Request) bool
	}{
		{"killed before its commit", func() func(*http.Request) bool {
			put := false
			return func(q *http.Request) bool {
				is := put
				put = put || q.Method == http.MethodPut && strings.Contains(q.URL.Path, "/readings/date=")
				return is
			}
		}},
		{"killed between commit and publication", func() func(*http.Request) bool {
			return func(q *http.Request) bool {
				return q.Method == http.MethodPut && strings.Contains(q.URL.Path, "/readings/_delta_log/")
			}
		}},
	} {
		late(10+n, "late", tables.String("é"))
		ctx, kill := context.WithCancel(t.Context())
		if err := x.maker(t, killedAt(kill, what.at())).MakeDay(ctx, x.day); err == nil {
			t.Errorf("%s: it was not killed", what.name)
		}
		kill()
		earlier, now := before, objects(t, x.World.Account, x.Names.Archive())
		r.add(t, what.name, now, root, earlier)
		if files(now, root) <= files(all, root) {
			t.Errorf("%s: no blob is left", what.name)
		}
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		one, all = add("after somebody was "+what.name, day)
	}
	one.withVersions(t, all, root)
	sums("after somebody was killed")

	dayBefore := x.day
	dayBefore.Day--
	must.Succeed(t, m.MakeDay(t.Context(), dayBefore))
	add("two days", day, day-1)
	must.Have(m.Forget(t.Context(), x.day.Tenant, day))(t)
	add("a day that was forgotten", day)

	must.Succeed(t, table.Log(m.Store).Checkpoint(t.Context(), true))
	must.Succeed(t, table.Cleaner(m.Store).CleanLog(t.Context(), 0))
	one, all = add("a checkpoint, and no log below it", day)
	if all[root+delta.VersionFile(0)] != nil || all[root+delta.LastCheckpoint] == nil {
		t.Error("the log was not cleaned")
	}
	one.Versions[0] = nil

	published := must.Have(table.State(t.Context()))(t).Published
	erased := x.World.Devices[1]
	x.vanish(t, erased)
	must.Have(m.Erase(t.Context(), x.day.Month, x.day.Tenant, erased))(t)
	one, _ = add("after an erasure", day)
	one.Versions[published] = nil
	sums("after an erasure")

	must.Succeed(t, table.Log(m.Store).FreshLog(t.Context()))
	add("a fresh log", day)
	late(20, "late", tables.Double(2))
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	add("a version after a fresh log", day)

	must.Have(m.Forget(t.Context(), x.day.Tenant, x.day.Day+1))(t)
	must.Succeed(t, table.RemoveEmpty(t.Context(), m.Store))
	must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.day))
	add("removed, and made again", day)
}

// files counts the files of a table that are there, live or not.
func files(all map[string][]byte, root string) (n int) {
	for path := range all {
		if strings.HasPrefix(path, root+"date=") {
			n++
		}
	}
	return n
}

// wide adds a table with as many columns as there may be, and more sensors.
func (r *readables) wide(t *testing.T) {
	t.Helper()
	x := newTables(t)
	m := x.maker(t, nil)
	client := x.World.Connect(t, nil).Table(x.Readings)
	for n := range 9 {
		e := tables.Entity{PartitionKey: string(x.World.Devices[0]),
			RowKey: (x.day.Day.Start() + tables.Ticks(n)).String() + "-wide"}
		for i := range 240 {
			e.Set(fmt.Sprint("sensor", n*240+i), tables.Double(float64(i)/7))
		}
		jobstest.Insert(t, client, e)
	}
	kinds := tables.Entity{PartitionKey: string(x.World.Devices[1]), RowKey: fmt.Sprint(x.day.Day.Start(), "-wide")}
	kinds.Set("word", tables.String("é"))
	kinds.Set("large", tables.Int64(1<<53+1))
	kinds.Set("raw", tables.Binary([]byte{0, 255}))
	jobstest.Insert(t, client, kinds)
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	table := m.Readings(x.day.Tenant)
	rows := x.sourceRows(t, table, x.day.Day)
	if !slices.ContainsFunc(rows, func(row map[string]any) bool { return row["more"] != nil }) {
		t.Error("no row has more sensors than there are columns")
	}
	r.add(t, "more than 2000 sensors", objects(t, x.World.Account, x.Names.Archive()), table.Folder(), rows)
}

// older adds the tables of an archive that an earlier release has made.
func (r *readables) older(t *testing.T) {
	t.Helper()
	x := newOlder(t)
	x.some(t)
	m := x.maker(t, nil)
	x.markAll(t, m)
	must.Succeed(t, x.work(t.Context(), m))
	x.migrated(t)
	all := objects(t, x.World.Account, x.Names.Archive())
	for _, tenant := range []schema.Tenant{acme, globex} {
		for _, table := range append([]*catalog.Table{m.Readings(tenant)}, m.Sums(tenant)...) {
			r.add(t, fmt.Sprintf("taken over, %s of %s", table.Name, tenant), all, table.Folder(), liveRows(t, all, table))
		}
	}
}

// TestOthersReadTables cell by cell: delta-rs, pandas, polars, and DuckDB on delta-rs; then Spark.
func TestOthersReadTables(t *testing.T) {
	t.Parallel()
	others(t)
	r := &readables{dir: t.TempDir()}
	r.filledTables(t)
	r.tenants(t)
	r.lives(t)
	r.wide(t)
	r.older(t)
	must.Succeed(t, os.WriteFile(filepath.Join(r.dir, "states.json"), must.Have(json.Marshal(r.all))(t), 0o600))
	for _, program := range []string{"read.py", "spark.py"} {
		t.Run(program, func(t *testing.T) { python(t, program, r.dir) })
	}
}

// others returns a Python that has the readers.
func others(t *testing.T) string {
	t.Helper()
	python := os.Getenv("FURROW_TABLE_READERS")
	if python == "" {
		t.Skip("FURROW_TABLE_READERS does not name a Python that has what .ci/tables/requirements.txt lists")
	}
	return python
}

// python runs a program of .ci/tables, and shows what it prints.
func python(t *testing.T, program string, args ...string) {
	t.Helper()
	all := append([]string{"-B", "-X", "faulthandler", "../../.ci/tables/" + program}, args...)
	command := exec.CommandContext(t.Context(), others(t), all...)
	printed, err := command.CombinedOutput()
	t.Logf("%s", printed)
	if err != nil {
		t.Error(err)
	}
}
