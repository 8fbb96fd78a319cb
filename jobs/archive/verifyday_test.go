package archive_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// told returns all that verifying tells about the day and the tables, errors as well.
func (x *tablesFleet) told(t *testing.T, m *archive.Tables) string {
	t.Helper()
	all, err := m.VerifyDay(t.Context(), x.day)
	if err != nil {
		all = append(all, "error: "+err.Error())
	}
	for one, err := range m.Verify(t.Context(), x.day.Tenant, true, tables.TicksOf(time.Now())) {
		must.Succeed(t, err)
		for _, wrong := range one.Wrong {
			if !strings.HasPrefix(wrong, (x.day.Day - 1).String()) { // that day is not made
				all = append(all, one.Table+": "+wrong)
			}
		}
	}
	return strings.Join(all, "\n")
}

// A damaged has the first file of a table, and where its content is.
type damaged struct {
	*tablesFleet
	m     *archive.Tables
	table *catalog.Table
	file  catalog.File
}

func (d *damaged) content(t *testing.T) []byte {
	t.Helper()
	return must2(must3(d.m.Store.Get(t.Context(), d.table.Path(&d.file))))
}

func must3(content []byte, _ tables.ETag, err error) ([]byte, error) { return content, err }

// replace puts other content in place of the file.
func (d *damaged) replace(t *testing.T, content []byte) {
	t.Helper()
	path := d.table.Path(&d.file)
	must.Succeed(t, d.m.Store.Delete(t.Context(), path))
	must.Succeed(t, d.m.Store.Put(t.Context(), path, content, ""))
}

// row changes a property of the row of the catalog whose key begins with a prefix.
func (d *damaged) row(t *testing.T, prefix, property string, by int64) {
	t.Helper()
	table := d.World.Connect(t, nil).Table(d.rows)
	for e, err := range table.Entities(t.Context(), tables.Query{}) {
		must.Succeed(t, err)
		of := e.Get("Tenant").Text()
		if !strings.HasPrefix(e.RowKey, prefix) || of != "" && of != string(d.day.Tenant) {
			continue
		}
		e.Set(property, tables.Int64(e.Get(property).Int()+by))
		must.Have(table.Do(t.Context(), tables.Replace(e, tables.AnyETag)))(t)
		return
	}
	t.Fatalf("no row %s", prefix)
}

// TestVerifyingTellsWhatIsDamaged in each of these ways, with the file, the day or the device that it is about.
func TestVerifyingTellsWhatIsDamaged(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	for _, w := range []struct {
		what, table string
		damage      func(t *testing.T, d *damaged)
		want        func(d *damaged) []string
	}{
		{"nothing", "readings", func(*testing.T, *damaged) {}, nil},
		{"a file is deleted", "readings", func(t *testing.T, d *damaged) {
			must.Succeed(t, d.m.Store.Delete(t.Context(), d.table.Path(&d.file)))
		}, func(d *damaged) []string { return []string{d.file.Name, "is not there"} }},
		{"a file of rollups is deleted", "rollups-1h", func(t *testing.T, d *damaged) {
			must.Succeed(t, d.m.Store.Delete(t.Context(), d.table.Path(&d.file)))
		}, func(d *damaged) []string { return []string{d.file.Name, "is not there"} }},
		{"a file is truncated", "readings", func(t *testing.T, d *damaged) {
			content := d.content(t)
			d.replace(t, content[:len(content)/2])
		}, func(d *damaged) []string { return []string{d.file.Name, "bytes"} }},
		{"a foreign blob", "readings", func(t *testing.T, d *damaged) {
			must.Succeed(t, d.m.Store.Put(t.Context(), d.table.Folder()+"date=2026-11-20/foreign.parquet", []byte("x"), ""))
		}, func(*damaged) []string { return []string{"foreign.parquet belongs"} }},
		{"a cell is changed", "readings", func(t *testing.T, d *damaged) {
			d.replace(t, d.rewritten(t, func(n int, one *columnar.StoredReading) bool {
				if n == 3 {
					one.Sample.Values[len(one.Sample.Values)-1].Number++
				}
				return true
			}))
		}, func(d *damaged) []string { return []string{string(d.World.Devices[0]), "and storage has"} }},
		{"a reading is left out", "readings", func(t *testing.T, d *damaged) {
			d.replace(t, d.rewritten(t, func(n int, _ *columnar.StoredReading) bool { return n != 4 }))
		}, func(d *damaged) []string { return []string{string(d.World.Devices[0]), "is missing"} }},
		{"a reading is there twice, with another key", "readings", func(t *testing.T, d *damaged) {
			d.replace(t, d.rewritten(t, func(n int, one *columnar.StoredReading) bool {
				if n == 2 {
					one.Sample.Key.Suffix = "x"
				}
				return true
			}))
		}, func(d *damaged) []string {
			return []string{string(d.World.Devices[0]), "-x is in no table of storage", "is missing"}
		}},
		{"a reading is in two files", "readings", func(t *testing.T, d *damaged) {
			s := must.Have(d.table.Begin(t.Context(), d.day.Day))(t)
			f := must.Have(d.table.Pend(t.Context(), d.day.Day))(t)
			content := d.rewritten(t, func(n int, _ *columnar.StoredReading) bool { return n == 4 })
			f.Months, f.Bytes, f.Stats, f.Columns = d.file.Months, int64(len(content)), d.file.Stats, d.file.Columns
			f.Stats.Rows = 1
			of := s.Day(d.day.Month)
			of.Rows++
			must.Succeed(t, d.m.Store.Put(t.Context(), d.table.Path(&f), content, ""))
			must.Have(d.table.Commit(t.Context(), s, &catalog.Change{Days: []catalog.Day{of}, New: []catalog.File{f}}))(t)
		}, func(*damaged) []string { return []string{"1 readings are there twice"} }},
		{"a file has more rows by its row", "readings", func(t *testing.T, d *damaged) { d.row(t, "d!", "Rows", 1) },
			func(d *damaged) []string { return []string{d.day.Day.String() + ": its files have -1 rows more"} }},
		{"rollups are of another window", "rollups-1h", func(t *testing.T, d *damaged) {
			other := damaged{d.tablesFleet, d.m, d.m.Catalog.Table(d.day.Tenant, "rollups-1d"), catalog.File{}}
			other.file = must.Have(collected(other.table.AllFiles(t.Context())))(t)[0]
			d.replace(t, other.content(t))
		}, func(*damaged) []string { return []string{"its rollups-1h are not those of its readings"} }},
	} {
		x := newTables(t)
		m := x.maker(t, nil)
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		d := &damaged{x, m, m.Catalog.Table(x.day.Tenant, w.table), catalog.File{}}
		d.file = must.Have(collected(d.table.AllFiles(t.Context())))(t)[0]
		w.damage(t, d)
		got := x.told(t, m)
		if w.want == nil && got != "" {
			t.Errorf("%s: %s", w.what, got)
		}
		if strings.Contains(got, "error: ") { // who verifies many days would not come to the next one
			t.Errorf("%s: it fails: %s", w.what, got)
		}
		if w.want != nil {
			for _, want := range w.want(d) {
				if !strings.Contains(got, want) {
					t.Errorf("%s: told is %s; want %s", w.what, got, want)
				}
			}
		}
	}
}

// rewritten returns the file with readings changed or left out.
func (d *damaged) rewritten(t *testing.T, keep func(n int, one *columnar.StoredReading) bool) []byte {
	t.Helper()
	content := d.content(t)
	r := must.Have(columnar.OpenReadings(bytes.NewReader(content), int64(len(content))))(t)
	var out bytes.Buffer
	to, n := columnar.NewReadings(&out, r.Series), 0
	for one := range storedIn(t, content) {
		if n++; keep(n-1, &one) {
			must.Succeed(t, to.Write(string(one.Device), one.About, &one.Sample))
		}
	}
	must.Succeed(t, to.Close())
	return out.Bytes()
}

// TestVerifyingTellsOfDevicesThatStorageDoesNotHave: readings of one that is no device of the fleet, wherever it is in
// the files, and of one that has lost all of its rows otherwise than by retention.
func TestVerifyingTellsOfDevicesThatStorageDoesNotHave(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	for _, bytes := range []int{0, 1} {
		for n := range 3 {
			for _, isMember := range []bool{false, true} {
				x := newTables(t)
				m := x.maker(t, nil)
				m.FileBytes, m.Summed = bytes, archive.Summed{}
				must.Succeed(t, m.MakeDay(t.Context(), x.day))
				device := x.World.Devices[n]
				if isMember {
					f := *x.Fleet
					f.Names = x.source
					forget(t, &f, device, x.day.Day, 1)
				} else {
					x.vanish(t, device)
				}
				if got := x.told(t, m); !strings.Contains(got, string(device)) || strings.Contains(got, "error") {
					t.Errorf("file bytes %d, device %s, a member: %v: told is %q", bytes, device, isMember, got)
				}
			}
		}
	}
}

// TestHeldDaysSayWhatTheTablesHave: a day is open as long as one of its partitions of the fleet is.
func TestHeldDaysSayWhatTheTablesHave(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	x := newTables(t)
	m := x.maker(t, nil)
	shard := x.day
	shard.Month.Shard = 3
	device := schema.Member{Device: "contoso:other", Tenant: x.day.Tenant, Month: shard.Month, Readings: x.Readings}
	must.Have(x.World.Connect(t, nil).Table(x.source.Fleet()).Do(t.Context(), tables.Insert(
		must.Have(device.Entity())(t))))(t)
	x.late(t, device.Device, x.day.Day.Start())
	want := len(x.want(t))
	held := func() (all []archive.HeldDay) {
		return must.Have(m.Held(t.Context(), x.day.Tenant, x.day.Day-1, x.day.Day+1))(t)
	}
	for _, each := range [][]archive.TableDay{{x.day, shard}, {shard, x.day}} {
		x.again(t)
		m = x.maker(t, nil)
		makeHours(t, m, each[0])
		makeHours(t, m, each[1])
		for n, one := range each {
			if all := held(); len(all) != 1 || all[0].Watermark != 0 {
				t.Errorf("with an open partition: %+v", all)
			}
			for _, of := range each {
				parts := must.Have(m.Parts(t.Context(), x.day.Tenant, must.Have(m.Readings(x.day.Tenant).Day(t.Context(),
					of.Day, of.Month))(t)))(t)
				if whole := len(parts) == 1 && parts[0] == of; whole != (n == 1 && of == each[0]) || len(parts) == 0 {
					t.Errorf("of %v there are %v", of, parts)
				}
			}
			must.Succeed(t, m.MakeDay(t.Context(), one))
		}
		all := held()
		if len(all) != 1 || all[0].Watermark == 0 || all[0].Readings != int64(want) || all[0].Rollups == 0 ||
			all[0].Reports == 0 {
			t.Errorf("held is %+v of %d readings", all, want)
		}
		files, size := 0, int64(0)
		for _, table := range append(m.Sums(x.day.Tenant), m.Readings(x.day.Tenant)) {
			rows := int64(0)
			for _, f := range must.Have(collected(m.Files(t.Context(), x.day.Tenant, table.Name, x.day.Day, x.day.Day)))(t) {
				content := objects(t, x.World.Account, x.Names.Archive())[f.Path]
				if int64(len(content)) != f.Bytes || f.Day != x.day.Day || f.Table != table.Name {
					t.Errorf("%+v has %d bytes", f, len(content))
				}
				files, size, rows = files+1, size+f.Bytes, rows+f.Rows
			}
			if table.Name == archive.ReadingsTable && rows != int64(want) {
				t.Errorf("files have %d rows of %d", rows, want)
			}
		}
		if files != all[0].Files || size != all[0].Bytes {
			t.Errorf("%d files with %d bytes; held is %+v", files, size, all)
		}
		if tenants := fmt.Sprint(must.Have(collected(m.Tenants(t.Context())))(t)); tenants != "[t0]" {
			t.Errorf("tenants %s", tenants)
		}
	}
}
