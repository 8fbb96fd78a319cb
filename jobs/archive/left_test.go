package archive_test

import (
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// leave does what the removal of a device does that keeps its data.
func leave(t testing.TB, f *jobstest.Fleet, all ...schema.Member) {
	t.Helper()
	client := f.World.Connect(t, nil)
	f.World.Create(t, f.Names.Devices())
	last := all[len(all)-1]
	d := schema.Device{ID: last.Device, Month: last.Month, Tenant: last.Tenant, Readings: last.Readings,
		Status: schema.Removed, Kept: schema.KeptOf(all)}
	for _, m := range all {
		d.Former = append(d.Former, m.Tenant)
		must.Have(client.Table(f.Names.Fleet()).Do(t.Context(), tables.InsertOrReplace(must.Have(m.Entity())(t))))(t)
		gone := tables.Delete(m.Month.String(), string(m.Key()), tables.AnyETag)
		must.Have(client.Table(f.Names.Fleet()).Do(t.Context(), gone))(t)
	}
	must.Have(client.Table(f.Names.Devices()).Do(t.Context(), tables.InsertOrReplace(must.Have(d.Entity())(t))))(t)
}

// TestFilesKeepDevicesThatLeftTheFleetWithTheirData: files made again, for late rows of others, for other columns, for
// the removal of another device, and files of a day that was never made have the readings of devices that were
// removed, also those that retention has deleted, and each tenant its part of one that had moved.
func TestFilesKeepDevicesThatLeftTheFleetWithTheirData(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f, d, day := fewFiles(t)
	d.FileBytes = 40 * 25
	client := f.World.Connect(t, nil)
	of := func(id schema.DeviceID) schema.Member { return f.World.Member(id, f.Readings) }
	first, moved, erased, other := of(f.World.Devices[0]), of(f.World.Devices[1]), of(f.World.Devices[2]),
		f.World.Devices[4]
	noon := day.Day.Start().Add(12 * time.Hour)
	next := moved
	moved.Spans, moved.Next, next.Tenant, next.Spans = schema.Spans{{To: noon}}, "t1", "t1", schema.Spans{{From: noon}}
	track := tables.Entity{PartitionKey: next.Month.String(), RowKey: string(next.Key())}
	track.Set(schema.TrackCheckpoint, tables.String(tables.TicksOf(time.Now()).String()))
	must.Have(client.Table(f.Names.Partitions("live")).Do(t.Context(), tables.Insert(track)))(t)
	want := expected(t, f, func(d schema.Day) bool { return d == day.Day })
	for _, e := range jobstest.Rows(t, client.Table(f.Readings), tables.Query{}) {
		id := e.PartitionKey + "/" + e.RowKey
		if e.PartitionKey == string(moved.Device) && e.RowKey >= noon.String() && want[id] != "" {
			want[id] = "tenant=t1" + want[id][len("tenant=t0"):]
		}
	}
	folders := folders(day.Day, day.Day)
	check := func(what string, asked archive.Asked) {
		t.Helper()
		for _, folder := range folders {
			m := must.Have(d.MakeDay(t.Context(), folder, asked))(t)
			day := d.Readings(folder)
			for wrong, err := range d.Store.Verify(t.Context(), folder, m, &day) {
				t.Error(what, folder, wrong, err)
			}
		}
		same(t, archived(t, f), want, what)
	}
	leave(t, f, first)
	leave(t, f, moved, next)
	check("a first time", archive.Asked{})
	first.Watermark = (day.Day + 1).Start() // as a removal keeps it
	leave(t, f, first)
	forget(t, f, first.Device, day.Day, 1)
	late := tables.Entity{PartitionKey: string(other), RowKey: (day.Day.Start() + 1).String()}
	late.Set("late", tables.String("state"))
	jobstest.Insert(t, client.Table(f.Readings), late)
	for id, values := range expected(t, f, func(d schema.Day) bool { return d == day.Day }) {
		if id == late.PartitionKey+"/"+late.RowKey {
			want[id] = values
		}
	}
	check("with a late row", archive.Asked{})
	d.About = archive.About{"site"}
	check("with a column", archive.Asked{})

	leave(t, f, erased)
	must.Have(f.Pipeline(t, nil).Forget(t.Context(), erased))(t)
	for id := range want {
		if id[:len(erased.Device)] == string(erased.Device) {
			delete(want, id)
		}
	}
	if n := must.Have(d.Erase(t.Context(), erased.Month, erased.Tenant, erased.Device))(t); n != 1 {
		t.Errorf("%d files had the device", n)
	}
	same(t, archived(t, f), want, "after another was erased")
	forget(t, f, erased.Device, day.Day, 1)
	check("after all", archive.Asked{})
}
