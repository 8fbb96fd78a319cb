package archive_test

import (
	"net/http"
	"strings"
	"testing"

	"furrow/jobs/archive"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// raise does what retention does to a device first: rows below the end of a day may be gone from now on.
func raise(t testing.TB, f *jobstest.Fleet, device schema.DeviceID, day schema.Day) {
	t.Helper()
	m := f.World.Member(device, f.Readings)
	m.Watermark = (day + 1).Start()
	fleet := f.World.Connect(t, nil).Table(f.Names.Fleet())
	must.Have(fleet.Do(t.Context(), tables.InsertOrReplace(must.Have(m.Entity())(t))))(t)
}

// forget deletes the rows of a device on a day, every nth of them.
func forget(t testing.TB, f *jobstest.Fleet, device schema.DeviceID, day schema.Day,
	nth int) (deleted []tables.Entity) {
	t.Helper()
	readings := f.World.Connect(t, nil).Table(f.Readings)
	for n, e := range jobstest.Rows(t, readings, tables.Query{Range: tables.Range{Partitions: tables.Is(string(device)),
		Rows: tables.Keys{From: day.Start().String(), Before: (day + 1).Start().String()}}}) {
		if n%nth == 0 {
			must.Have(readings.Do(t.Context(), tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag)))(t)
			deleted = append(deleted, e)
		}
	}
	if deleted == nil {
		t.Fatalf("device %s has no rows", device)
	}
	return deleted
}

// of leaves only readings of the folder's tenant.
func of(f *jobstest.Fleet, folder archive.Folder, all map[string]string) map[string]string {
	for id := range all {
		if device, _, _ := strings.Cut(id, "/"); f.World.Member(schema.DeviceID(device), "").Tenant != folder.Tenant {
			delete(all, id)
		}
	}
	return all
}

// TestFilesMadeAgainKeepReadingsThatRetentionHasDeleted, all or some of them, beside late rows of other devices. The
// archive is verified without them being missed.
func TestFilesMadeAgainKeepReadingsThatRetentionHasDeleted(t *testing.T) {
	t.Parallel()
	f, d, folder := fewFiles(t)
	small(d)
	must.Have(d.MakeDay(t.Context(), folder, archive.Asked{}))(t)
	want := of(f, folder, expected(t, f, func(day schema.Day) bool { return day == folder.Day }))
	for n, device := range f.World.Devices[:2] {
		raise(t, f, device, folder.Day)
		forget(t, f, device, folder.Day, n+1)
	}
	late := tables.Entity{PartitionKey: string(f.World.Devices[2]), RowKey: (folder.Day.Start() + 1).String()}
	late.Set("late", tables.String("state"))
	jobstest.Insert(t, f.World.Connect(t, nil).Table(f.Readings), late)
	for id, values := range of(f, folder, expected(t, f, func(day schema.Day) bool { return day == folder.Day })) {
		want[id] = values
	}
	d.About = archive.About{"site"} // a column more changes every file
	for range 2 {
		m := must.Have(d.MakeDay(t.Context(), folder, archive.Asked{}))(t)
		same(t, archived(t, f), want)
		day := d.Source.TenantDay(folder.Month, folder.Tenant, folder.Day)
		for wrong, err := range d.Store.Verify(t.Context(), folder, m, &day) {
			t.Error(wrong, err)
		}
	}
}

// TestRetentionAmidAMakerLosesNoReading: it raises the watermark and deletes the rows at any operation of a maker,
// which then begins again with what the last file has.
func TestRetentionAmidAMakerLosesNoReading(t *testing.T) {
	t.Parallel()
	f, d, folder := fewFiles(t)
	want := of(f, folder, expected(t, f, func(day schema.Day) bool { return day == folder.Day }))
	names, device := f.Names, f.World.Devices[1]
	for n := 0; ; n++ {
		container := elsewhere(t, f, nil).Store
		archives := f.Names
		f.Names = names
		d.Store, d.Source.Names = container, names
		must.Have(d.MakeDay(t.Context(), folder, archive.Asked{}))(t)
		var deleted []tables.Entity
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			raise(t, f, device, folder.Day)
			deleted = forget(t, f, device, folder.Day, 1)
			return send()
		}}
		f.Names = archives
		maker := daysOf(t, f, gate)
		maker.Source.Names, f.Names = names, names
		must.Have(maker.MakeDay(t.Context(), folder, archive.Asked{}))(t)
		f.Names = archives
		same(t, archived(t, f), want, "operation ", n)
		if f.Names = names; deleted == nil {
			t.Logf("%d operations", n)
			return
		}
		jobstest.Insert(t, f.World.Connect(t, nil).Table(f.Readings), deleted...)
		raise(t, f, device, -1)
	}
}
