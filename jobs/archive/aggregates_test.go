package archive_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"furrow/jobs/archive"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// summing has the files of a day besides readings, and devices at two sites.
func summing(t *testing.T) (*jobstest.Fleet, *archive.Days, archive.Folder) {
	t.Helper()
	f, d, folder := fewFiles(t)
	d.About, d.Summed = archive.About{"site"}, archive.Summed{Rollups: []schema.Window{schema.Hour, schema.Daily},
		Reports: []schema.Window{schema.Hour}, By: []schema.By{schema.ByTenant, schema.BySite}}
	fleet := f.World.Connect(t, nil).Table(f.Names.Fleet())
	for n, device := range f.World.Devices {
		m := f.World.Member(device, f.Readings)
		m.Site = schema.Site(fmt.Sprint("hall ", n%2))
		must.Have(fleet.Do(t.Context(), tables.InsertOrReplace(must.Have(m.Entity())(t))))(t)
	}
	return f, small(d), folder
}

// rowsIn returns the rows of a kind of files, and fails if one is there twice.
func rowsIn(t *testing.T, f *jobstest.Fleet, kind string, columns int) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, content := range objects(t, f.World.Account, f.Names.Archive()) {
		if !strings.HasPrefix(name, kind+"/") {
			continue
		}
		folder := name[:strings.LastIndex(name, "/")]
		must.Succeed(t, columnar.ReadTable(bytes.NewReader(content), int64(len(content)), func(row []any) error {
			id := fmt.Sprintln(append([]any{folder}, row[:columns]...)...)
			if kind == "reports" {
				id += name // each file has the devices of its own
			}
			if all[id] != "" {
				t.Errorf("%s is there twice", id)
			}
			all[id] = fmt.Sprint(row[columns:]...)
			return nil
		}))
	}
	return all
}

// bucketsOf returns the rows that rollups should have, from the buckets that the processor writes to its table.
func bucketsOf(t *testing.T, f *jobstest.Fleet, folder archive.Folder) map[string]string {
	t.Helper()
	all := map[string]string{}
	buckets := (&rollup.Config{Windows: []schema.Window{schema.Hour, schema.Daily}}).Fold(fold.Setup{})
	for n, device := range f.World.Devices {
		m := f.World.Member(device, f.Readings)
		if m.Tenant != folder.Tenant {
			continue
		}
		var samples []fold.Sample
		for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Readings), tables.Query{Range: tables.Range{
			Partitions: tables.Is(string(device)), Rows: tables.Keys{From: folder.Day.Start().String(),
				Before: (folder.Day + 1).Start().String()}}}) {
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
				id := fmt.Sprintln(fmt.Sprintf("rollups/window=%s/tenant=%s/date=%s", p.Window, folder.Tenant, folder.Day),
					string(device), row.Bucket.Time().UnixMicro(), fmt.Sprint("hall ", n%2), sensor.Name)
				all[id] = fmt.Sprint([]any{a.Count, a.Sum, a.Min, a.Max, a.First, a.Last}...)
			}
		}
	}
	return all
}

// TestRollupsInTheArchiveAreThoseOfTheTables and follow late rows. Verifying finds one that differs.
func TestRollupsInTheArchiveAreThoseOfTheTables(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f, d, folder := summing(t)
	check := func(what string) *archive.Manifest {
		t.Helper()
		m := must.Have(d.MakeDay(t.Context(), folder, archive.Asked{}))(t)
		got := rowsIn(t, f, "rollups", 4)
		for id, text := range got { // without the times of first and last
			values := strings.Fields(text)
			got[id] = strings.Join(values[:len(values)-2], " ")
		}
		same(t, got, bucketsOf(t, f, folder), what)
		for problem, err := range d.Store.Verify(t.Context(), folder, m, nil) {
			t.Errorf("%s: %s %v", what, problem, err)
		}
		return m
	}
	m := check("first")
	if len(m.Files) < 2 || len(m.Rollups) != 2*len(m.Files) || len(m.Reports) != len(m.Files) {
		t.Errorf("%d files, %d of rollups, %d of reports", len(m.Files), len(m.Rollups), len(m.Reports))
	}
	late := tables.Entity{PartitionKey: string(f.World.Devices[0]), RowKey: folder.Day.Start().String() + "-late"}
	late.Set("temperature", tables.Double(-40))
	jobstest.Insert(t, f.World.Connect(t, nil).Table(f.Readings), late)
	older := *m
	m = check("a late reading")
	mixed := *m
	mixed.Files = older.Files
	if problems := problemsOf(t, d, folder, &mixed); !strings.Contains(problems, "bytes with the SHA-256") {
		t.Errorf("an older manifest: %s", problems)
	}
	devices := int64(0)
	for id, text := range rowsIn(t, f, "reports", 4) {
		if strings.Contains(id, " tenant <nil> ") && strings.Contains(id, "temperature") {
			values := strings.Fields(text)
			devices += int64(must.Have(countOf(values[0]))(t))
		}
	}
	count := int64(0)
	for id, text := range bucketsOf(t, f, folder) {
		if strings.Contains(id, "window=1h/") && strings.Contains(id, "temperature") {
			count += int64(must.Have(countOf(strings.Fields(text)[0]))(t))
		}
	}
	if devices != count || count == 0 {
		t.Errorf("reports count %d readings of %d", devices, count)
	}
	d.Summed = archive.Summed{Rollups: []schema.Window{schema.Daily}}
	m = must.Have(d.MakeDay(t.Context(), folder, archive.Asked{}))(t)
	for name := range objects(t, f.World.Account, f.Names.Archive()) {
		if strings.HasPrefix(name, "reports/") || strings.HasPrefix(name, "rollups/window=1h") {
			t.Errorf("%s is no longer asked for", name)
		}
	}
	if problems := problemsOf(t, d, folder, m); problems != "" || len(m.Rollups) != len(m.Files) {
		t.Errorf("without hours: %+v %s", m, problems)
	}
}

func countOf(text string) (n int, err error) {
	_, err = fmt.Sscan(text, &n)
	return n, err
}

func problemsOf(t *testing.T, d *archive.Days, folder archive.Folder, m *archive.Manifest) string {
	t.Helper()
	var all []string
	for wrong, err := range d.Store.Verify(t.Context(), folder, m, nil) {
		must.Succeed(t, err)
		all = append(all, wrong)
	}
	return strings.Join(all, "\n")
}
