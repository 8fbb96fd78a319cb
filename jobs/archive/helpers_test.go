package archive_test

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"testing"

	"furrow/jobs/archive"
	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
)

// connected returns the container and the pipeline of a fleet, which share one transport.
func connected(t testing.TB, f *jobstest.Fleet, through policy.Transporter) (*archive.Store, *groups.Source) {
	t.Helper()
	store := must.Have(archive.Connect(archive.StoreConfig{Account: f.World.Account, Container: f.Names.Archive(),
		Transport: azuretest.Transport(through), Retry: policy.RetryOptions{MaxRetries: -1}}))(t)
	return store, f.Pipeline(t, through).Source()
}

// objects downloads all objects of a container with the SDK.
func objects(t testing.TB, a tables.Account, container string) map[string][]byte {
	t.Helper()
	key := must.Have(azblob.NewSharedKeyCredential(a.Name, a.Key))(t)
	client := must.Have(azblob.NewClientWithSharedKeyCredential(a.Blob, key,
		&azblob.ClientOptions{ClientOptions: policy.ClientOptions{Transport: azuretest.Transport(nil)}}))(t)
	all := map[string][]byte{}
	for pages := client.NewListBlobsFlatPager(container, nil); pages.More(); {
		page := must.Have(pages.NextPage(t.Context()))(t)
		for _, item := range page.Segment.BlobItems {
			object := must.Have(client.DownloadStream(t.Context(), container, *item.Name, nil))(t)
			all[*item.Name] = must.Have(io.ReadAll(object.Body))(t)
			must.Succeed(t, object.Body.Close())
		}
	}
	return all
}

func text(folder string, values []fold.SensorValue) string {
	slices.SortFunc(values, func(a, b fold.SensorValue) int { return cmp.Compare(a.Sensor, b.Sensor) })
	return fmt.Sprint(folder, values)
}

// expected returns what the archive of some days should have, from the rows that storage has.
func expected(t testing.TB, f *jobstest.Fleet, wanted func(schema.Day) bool) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Readings), tables.Query{}) {
		r, err := schema.ReadingOf(e)
		if day := schema.DayOf(r.Key.Ticks); err == nil && wanted(day) {
			sample, _ := (&fold.Sensors{}).Sample(r)
			m := f.World.Member(r.Device, "")
			all[e.PartitionKey+"/"+e.RowKey] = text(fmt.Sprintf("tenant=%s/date=%s", m.Tenant, day), sample.Values)
		}
	}
	return all
}

func same(t testing.TB, got, want map[string]string, about ...any) {
	t.Helper()
	if difference := jobstest.Differ(got, want); difference != "" || len(want) == 0 {
		t.Fatalf("%s: of %d readings, %d expected: %s", fmt.Sprint(about...), len(got), len(want), difference)
	}
}

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
