package archive_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/archive/delta"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/retain"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A tablesFleet is a fleet with the tables of its archive.
type tablesFleet struct {
	*jobstest.Fleet
	source schema.Names // of the fleet; the archive has names of its own
	rows   string       // table of the catalog
	day    archive.TableDay
}

// newTables has a fleet, two tenants with readings of yesterday, and no tables yet.
func newTables(t testing.TB) *tablesFleet {
	t.Helper()
	return newTablesSince(t, 2, 30)
}

func newTablesSince(t testing.TB, days, rows int) *tablesFleet {
	t.Helper()
	w := jobstest.NewWorldSince(t, time.Duration(days)*24*time.Hour, 6, rows)
	f := w.NewFleet(t)
	must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
	x := &tablesFleet{Fleet: f, source: f.Names, day: archive.TableDay{Tenant: "t0", Month: jobstest.Month,
		Day: schema.DayOf(tables.TicksOf(time.Now())) - 1}}
	x.again(t)
	return x
}

// again has no tables.
func (x *tablesFleet) again(t testing.TB) {
	t.Helper()
	x.rows = azuretest.Name("catalog")
	must.Succeed(t, x.World.Connect(t, nil).Table(x.rows).Create(t.Context()))
	x.Names = must.Have(schema.ParseNames(azuretest.Name("a")[:17]))(t)
	must.Succeed(t, x.maker(t, nil).Store.Create(t.Context()))
}

func (x *tablesFleet) maker(t testing.TB, through policy.Transporter) *archive.Tables {
	t.Helper()
	store, source := connected(t, x.Fleet, through)
	source.Names = x.source
	source.Keep = []retain.Keep{{Reports: map[schema.Window]time.Duration{schema.Hour: 24 * time.Hour}}}
	return &archive.Tables{Contents: archive.Contents{
		Catalog: catalog.New(x.World.Connect(t, through).Table(x.rows)), Store: store},
		Source: source, About: archive.About{"site"}, Settle: time.Second, Summed: archive.Summed{
			Rollups: []schema.Window{schema.Hour, schema.Daily}, Reports: []schema.Window{schema.Hour},
			By: []schema.By{schema.ByTenant, schema.BySite}}}
}

// read returns what the published log of the table says, as archived does.
func (x *tablesFleet) read(t testing.TB) map[string]string {
	t.Helper()
	found := map[string]string{}
	all, root := objects(t, x.World.Account, x.Names.Archive()), delta.Folder(string(x.day.Tenant))+"/readings/"
	for path := range followed(t, all, root) {
		for id, values := range x.readingsOf(t, all[root+path], path[:len("date=2026-11-20")]) {
			if found[id] != "" {
				t.Errorf("%s is there twice", id)
			}
			found[id] = values
		}
	}
	return found
}

// readingsOf returns what a file of a day has, as archived does.
func (x *tablesFleet) readingsOf(t testing.TB, content []byte, day string) map[string]string {
	t.Helper()
	found := map[string]string{}
	r := must.Have(columnar.OpenReadings(bytes.NewReader(content), int64(len(content))))(t)
	for {
		one, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		must.Succeed(t, err)
		id := fmt.Sprint(one.Device, "/", one.Sample.Key)
		found[id] = text(fmt.Sprintf("tenant=%s/%s", x.day.Tenant, day), one.Sample.Values)
	}
}

// unpacked returns the compressed properties of a row of the catalog.
func unpacked(t testing.TB, e *tables.Entity) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{"Bytes", "Columns"} {
		var packed bytes.Buffer
		for i := 0; e.Get(fmt.Sprint(name, i)) != (tables.Value{}); i++ {
			packed.Write(e.Get(fmt.Sprint(name, i)).Binary())
		}
		if packed.Len() > 0 {
			all.Write(must.Have(io.ReadAll(must.Have(gzip.NewReader(&packed))(t)))(t))
		}
	}
	return all.String()
}

// want returns what the table should have of the day.
func (x *tablesFleet) want(t testing.TB) map[string]string {
	t.Helper()
	return x.wantOf(t, x.day.Day)
}

// wantOf returns what the table should have of a day.
func (x *tablesFleet) wantOf(t testing.TB, day schema.Day) map[string]string {
	t.Helper()
	all := expected(t, x.Fleet, func(d schema.Day) bool { return d == day })
	maps.DeleteFunc(all, func(id, _ string) bool {
		device, _, _ := strings.Cut(id, "/")
		return x.World.Member(schema.DeviceID(device), "").Tenant != x.day.Tenant
	})
	return all
}

func TestTablesHaveTheReadingsOfADay(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	want := x.want(t)
	m := x.maker(t, nil)
	for range 2 {
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		same(t, x.read(t), want)
	}
	m.FileBytes = 1 // a file for each device
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	same(t, x.read(t), want, "a file for each device")
	files := 0
	for _, err := range m.Readings(x.day.Tenant).Files(t.Context(), x.day.Day, x.day.Day) {
		must.Succeed(t, err)
		files++
	}
	if files < 2 {
		t.Errorf("%d files", files)
	}
	late := tables.Entity{PartitionKey: string(x.World.Devices[0]), RowKey: (x.day.Day.Start() + 1).String()}
	late.Set("yesterday", tables.Double(1))
	jobstest.Insert(t, x.World.Connect(t, nil).Table(x.Readings), late)
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	same(t, x.read(t), x.want(t), "a late row with a sensor that nobody had")
	table := m.Readings(x.day.Tenant)
	wrong := func() (all []string) {
		all = append(all, must.Have(table.Verify(t.Context(), m.Store))(t)...)
		return all
	}
	if all := wrong(); len(all) > 0 {
		t.Errorf("verifying says %q", all)
	}
	for f, err := range table.Files(t.Context(), x.day.Day, x.day.Day) {
		must.Succeed(t, err)
		must.Succeed(t, m.Store.Delete(t.Context(), table.Path(&f)))
		break
	}
	must.Succeed(t, m.Store.Put(t.Context(), table.Folder()+"date=2026-11-20/foreign.parquet", []byte("x"), ""))
	all := fmt.Sprint(wrong())
	if !strings.Contains(all, "is not there") || !strings.Contains(all, "foreign.parquet belongs") {
		t.Errorf("verifying says %s", all)
	}
}

// TestTablesKeepWhatRetentionHasDeleted: it raises the watermark of each device and deletes its rows, at any operation
// of a maker that makes the day again.
func TestTablesKeepWhatRetentionHasDeleted(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	effort.Each(t, 7, func(t *testing.T, n int) (more bool) {
		y := newTables(t)
		want := y.want(t)
		first := y.maker(t, nil)
		first.FileBytes = 1
		must.Succeed(t, first.MakeDay(t.Context(), y.day))
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			for _, device := range y.World.Devices {
				y.retire(t, device)
			}
			return send()
		}}
		must.Succeed(t, y.maker(t, gate).MakeDay(t.Context(), y.day))
		same(t, y.read(t), want, "retention at operation ", n)
		if more = int(gate.N.Load()) > n; !more {
			t.Logf("%d operations", n)
		}
		return more
	})
}

// retire does what retention does with a device's rows of the day.
func (x *tablesFleet) retire(t testing.TB, device schema.DeviceID) {
	t.Helper()
	f := *x.Fleet
	f.Names = x.source
	raise(t, &f, device, x.day.Day)
	table := x.World.Connect(t, nil).Table(x.Readings)
	for _, e := range jobstest.Rows(t, table, tables.Query{Range: tables.Partition(string(device))}) {
		if e.RowKey < (x.day.Day + 1).Start().String() {
			must.Have(table.Do(t.Context(), tables.Delete(string(device), e.RowKey, tables.AnyETag)))(t)
		}
	}
}

// TestADayWithoutItsFilesIsNotArchived, or with a file of another size: retention keeps its rows.
func TestADayWithoutItsFilesIsNotArchived(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m := x.maker(t, nil)
	has := func() bool { return must.Have(m.Has(t.Context(), x.day))(t) }
	if has() {
		t.Error("the day was not made")
	}
	m.FileBytes = 1
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	if !has() {
		t.Error("the day was made")
	}
	table := m.Readings(x.day.Tenant)
	files := must.Have(collected(table.AllFiles(t.Context())))(t)
	path := table.Path(&files[len(files)-1])
	must.Succeed(t, m.Store.Delete(t.Context(), path))
	if has() {
		t.Error("a file is not there")
	}
	must.Succeed(t, m.Store.Put(t.Context(), path, []byte("x"), ""))
	if has() {
		t.Error("a file has one byte")
	}
}

// TestKilledMakersOfTablesLeaveWholeVersions at every operation: readers see the day as it was, or as it is, and
// another maker does the rest.
func TestKilledMakersOfTablesLeaveWholeVersions(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	want := x.want(t)
	for n, more := 0, true; more; n += effort.Step(7) {
		x.again(t)
		ctx, kill := context.WithCancel(t.Context())
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			if n%2 == 0 {
				if r, err := send(); err == nil {
					_ = r.Body.Close()
				}
			}
			kill()
			return nil, context.Canceled
		}}
		err := x.maker(t, gate).MakeDay(ctx, x.day)
		kill()
		if more = int(gate.N.Load()) > n; more != (err != nil) {
			t.Fatalf("operation %d: %v", n, err)
		}
		if got := x.read(t); len(got) > 0 {
			same(t, got, want, "killed at operation ", n)
		}
		must.Succeed(t, x.maker(t, nil).MakeDay(t.Context(), x.day))
		same(t, x.read(t), want, "after operation ", n)
	}
}

// TestForgottenDaysLeaveTheTable, and their blobs a day later. Younger ones stay.
func TestForgottenDaysLeaveTheTable(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m, want := x.maker(t, nil), x.want(t)
	m.FileBytes = 1
	before := x.day
	before.Day--
	must.Succeed(t, m.MakeDay(t.Context(), before))
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	if n := must.Have(m.Forget(t.Context(), x.day.Tenant, x.day.Day))(t); n == 0 {
		t.Error("the day before had no readings")
	}
	same(t, x.read(t), want)
	blobs := func() (n int) {
		for name := range objects(t, x.World.Account, x.Names.Archive()) {
			if strings.Contains(name, "date="+before.Day.String()) {
				n++
			}
		}
		return n
	}
	must.Have(m.Clean(t.Context(), x.day.Tenant))(t)
	if blobs() == 0 {
		t.Error("readers may still read what has just left the table")
	}
	later := x.maker(t, faults.Later(25*time.Hour))
	must.Have(later.Clean(t.Context(), x.day.Tenant))(t)
	if n := blobs(); n > 0 {
		t.Errorf("%d blobs are left a day later", n)
	}
	same(t, x.read(t), want)
	if n := must.Have(m.Forget(t.Context(), x.day.Tenant, x.day.Day))(t); n != 0 {
		t.Errorf("%d readings are forgotten twice", n)
	}
}

// bucketsOf returns the rows that rollups should have, from the buckets that the processor writes to its table.
func (x *tablesFleet) bucketsOf(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	buckets := (&rollup.Config{Windows: []schema.Window{schema.Hour, schema.Daily}}).Fold(fold.Setup{})
	for _, device := range x.World.Devices {
		m := x.World.Member(device, x.Readings)
		if m.Tenant != x.day.Tenant {
			continue
		}
		var samples []fold.Sample
		for _, e := range jobstest.Rows(t, x.World.Connect(t, nil).Table(x.Readings), tables.Query{Range: tables.Range{
			Partitions: tables.Is(string(device)), Rows: tables.Keys{From: x.day.Day.Start().String(),
				Before: (x.day.Day + 1).Start().String()}}}) {
			if r, err := schema.ReadingOf(e); err == nil {
				sample, _ := (&fold.Sensors{}).Sample(r)
				samples = append(samples, sample)
			}
		}
		for _, e := range must.Have(buckets.Fold(m, nil, samples))(t).Effects {
			p := must.Have(schema.ParseRollupPartition(e.Output.PartitionKey))(t)
			row := must.Have(schema.ParseRollupRow(e.Output.RowKey))(t)
			for _, sensor := range e.Properties {
				a, err := rollup.ParseAggregate(sensor.Value.Text())
				if err != nil {
					continue // the number of readings
				}
				id := fmt.Sprintln("rollups-"+p.Window.String(), string(device), row.Bucket.Time().UnixMicro(), sensor.Name)
				all[id] = fmt.Sprint([]any{a.Count, a.Sum, a.Min, a.Max, a.First, a.Last}...)
			}
		}
	}
	return all
}

// TestTablesOfRollupsAndReportsAreOfTheirReadings, and follow late rows: rollups are what the processor writes to its
// own table, and the reports of the tenant count all of it.
func TestTablesOfRollupsAndReportsAreOfTheirReadings(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m := x.maker(t, nil)
	for n := range 2 {
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		all := objects(t, x.World.Account, x.Names.Archive())
		got, want, reported, counted := map[string]string{}, x.bucketsOf(t), int64(0), int64(0)
		for _, table := range m.Sums(x.day.Tenant) {
			for f, err := range table.Files(t.Context(), x.day.Day, x.day.Day) {
				must.Succeed(t, err)
				content := all[table.Path(&f)]
				must.Succeed(t, columnar.ReadTable(bytes.NewReader(content), int64(len(content)), func(row []any) error {
					if table.Name == "reports-1h" {
						if count, _ := row[4].(int64); row[0] == "tenant" {
							reported += count
						}
						return nil
					}
					if count, _ := row[3].(int64); table.Name == "rollups-1h" {
						counted += count
					}
					got[fmt.Sprintln(append([]any{table.Name}, row[:3]...)...)] = fmt.Sprint(row[3:9]...)
					return nil
				}))
			}
		}
		same(t, got, want)
		if reported != counted || counted == 0 {
			t.Errorf("reports count %d values of %d", reported, counted)
		}
		for _, problem := range must.Have(m.VerifyDay(t.Context(), x.day))(t) {
			t.Error(problem)
		}
		late := tables.Entity{PartitionKey: string(x.World.Devices[0]), RowKey: fmt.Sprint(x.day.Day.Start(), "-late", n)}
		late.Set("temperature", tables.Double(-40))
		jobstest.Insert(t, x.World.Connect(t, nil).Table(x.Readings), late)
	}
	if problems := x.problems(t, m); !strings.Contains(problems, "-late1 is missing") {
		t.Errorf("with another late reading: %s", problems)
	}
}

// problems returns what verifying finds.
func (x *tablesFleet) problems(t *testing.T, m *archive.Tables) string {
	t.Helper()
	all := must.Have(m.VerifyDay(t.Context(), x.day))(t)
	for one, err := range m.Verify(t.Context(), x.day.Tenant, true, tables.TicksOf(time.Now())) {
		must.Succeed(t, err)
		for _, wrong := range one.Wrong {
			all = append(all, one.Table+": "+wrong)
		}
	}
	return strings.Join(all, "\n")
}

// rowsAsKeys adds the rows of a file, and reports one that is there twice.
func rowsAsKeys(t *testing.T, content []byte, all map[string]string) {
	t.Helper()
	for _, row := range rowsOfFile(t, content) {
		key := canonical(row)
		if all[key] != "" {
			t.Errorf("%s is there twice", key)
		}
		all[key] = "is there"
	}
}
