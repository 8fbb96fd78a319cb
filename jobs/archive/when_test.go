package archive_test

import (
	"errors"
	"testing"

	"furrow/jobs/archive"
	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/delta"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestSettingsMarkEveryDayOnce: also days that have a mark already, such as one that is open and has hours. Two
// operations on one row make no transaction.
func TestSettingsMarkEveryDayOnce(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m := x.maker(t, nil)
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	mark := schema.Mark{Month: x.day.Month, Kind: schema.ArchiveMark, Tenant: x.day.Tenant, Name: x.day.When()}
	must.Have(m.Source.Tracking().Do(t.Context(), tables.InsertOrReplace(mark.Entity())))(t)
	must.Succeed(t, m.Source.MarkAll(t.Context(), m, x.day.Month))
	all := must.Have(collected(m.Source.Marks(t.Context(), x.day.Month, schema.ArchiveMark)))(t)
	for i := range all {
		if all[i].Name == mark.Name && all[i].At == 0 {
			t.Error("the mark has no time")
		}
	}
	if len(all) != 2 { // and that for cleaning
		t.Errorf("marks %v", all)
	}
}

// mark leaves a mark, for a device or for the whole of something, and returns it.
func (x *tablesFleet) mark(t testing.TB, m *archive.Tables, name string) schema.Mark {
	t.Helper()
	mark := schema.Mark{Month: x.day.Month, Kind: schema.ArchiveMark, Tenant: x.day.Tenant, Name: name}
	must.Have(m.Source.Tracking().Do(t.Context(), tables.InsertOrReplace(mark.Entity())))(t)
	return mark
}

// marks returns the names of the marks that there are.
func (x *tablesFleet) marks(t testing.TB, m *archive.Tables) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, mark := range must.Have(collected(m.Source.Marks(t.Context(), x.day.Month, schema.ArchiveMark)))(t) {
		names[mark.Name] = true
	}
	return names
}

// TestAForeignLogStopsNothing: where another program has written into the log of a table, days are made and forgotten
// as ever, and the tenant's other tables are published. It is told each time.
func TestAForeignLogStopsNothing(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	for _, foreign := range []string{"readings", "rollups-1h"} {
		x := newTables(t)
		m := x.maker(t, nil)
		must.Succeed(t, m.MakeDay(t.Context(), x.day))
		table := m.Catalog.Table(x.day.Tenant, foreign)
		for n := int64(0); ; n++ {
			if err := m.Store.Put(t.Context(), table.Folder()+delta.VersionFile(n), []byte("{}"), ""); err == nil {
				break
			}
		}
		for n := range 3 {
			fresh := x.maker(t, nil)
			x.late(t, x.World.Devices[0], x.day.Day.Start()+tables.Ticks(n))
			mark := x.mark(t, m, x.day.When())
			w := must.Have(fresh.Source.Work(t.Context(), fresh, x.day.Month, schema.ArchiveMark))(t)
			if err := w.Strange[mark.Month.String()+"/"+mark.Key()]; len(w.Strange) != 1 || !errors.Is(err, catalog.ErrForeign) {
				t.Errorf("%s: strange are %v", foreign, w.Strange)
			}
			if x.marks(t, m)[mark.Name] {
				t.Errorf("%s: the mark has stayed", foreign)
			}
			same(t, x.newest(t), x.want(t), foreign, ", making ", n)
			if foreign != "readings" {
				same(t, x.read(t), x.want(t), foreign, ", the published readings, making ", n)
			}
		}
		for range 2 {
			_, err := x.maker(t, nil).Forget(t.Context(), x.day.Tenant, x.day.Day+1)
			if !errors.Is(err, catalog.ErrForeign) {
				t.Errorf("%s: forgetting: %v", foreign, err)
			}
		}
		for _, table := range append(m.Sums(x.day.Tenant), m.Readings(x.day.Tenant)) {
			if files := must.Have(collected(table.AllFiles(t.Context())))(t); len(files) > 0 {
				t.Errorf("%s is foreign: of %s, %d files are left", foreign, table.Name, len(files))
			}
		}
	}
}
