package archive_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
)

// daysOf returns the maker of a fleet's files. Its tables and objects share one transport.
func daysOf(t testing.TB, f *jobstest.Fleet, through policy.Transporter) *archive.Days {
	t.Helper()
	store := must.Have(archive.Connect(archive.StoreConfig{Account: f.World.Account, Container: f.Names.Archive(),
		Transport: through, Retry: policy.RetryOptions{MaxRetries: -1}}))(t)
	return &archive.Days{Store: store, Source: f.Pipeline(t, through).Source(), Settle: time.Second}
}

// objects downloads all objects of a container with the SDK.
func objects(t testing.TB, a tables.Account, container string) map[string][]byte {
	t.Helper()
	key := must.Have(azblob.NewSharedKeyCredential(a.Name, a.Key))(t)
	client := must.Have(azblob.NewClientWithSharedKeyCredential(a.Blob, key, nil))(t)
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

// archived returns what the files of a fleet say of every reading: tenant, day and values, by device and row key. Each
// is there once, in order.
func archived(t testing.TB, f *jobstest.Fleet) map[string]string {
	t.Helper()
	found := archivedIn(t, f, "tenant=")
	for id, values := range archivedIn(t, f, "hours/") {
		if found[id] != "" {
			t.Errorf("%s is in %s, and in %s", id, found[id], values)
		}
		found[id] = values
	}
	return found
}

// archivedIn returns the same of files whose names have a prefix.
func archivedIn(t testing.TB, f *jobstest.Fleet, prefix string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name, content := range objects(t, f.World.Account, f.Names.Archive()) {
		if !strings.HasSuffix(name, ".parquet") || !strings.HasPrefix(name, prefix) {
			continue
		}
		r := must.Have(columnar.Open(bytes.NewReader(content), int64(len(content))))(t)
		before := ""
		for {
			one, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			must.Succeed(t, err)
			id := one.Device + "/" + one.Key
			if found[id] != "" || id <= before {
				t.Errorf("%s comes after %s in %s, and is in %s", id, before, name, found[id])
			}
			before, found[id] = id, text(name[:strings.LastIndex(name, "/")], one.Values)
		}
	}
	return found
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

// folders are those of a fleet's tenants and some days.
func folders(from, to schema.Day) (all []archive.Folder) {
	for day := from; day <= to; day++ {
		for _, tenant := range []schema.Tenant{"t0", "t1"} {
			all = append(all, archive.Folder{Tenant: tenant, Day: day, Month: jobstest.Month})
		}
	}
	return all
}

// TestFilesHaveEveryReadingOfADayOnce in several files that begin with another device, and manifests that describe
// them.
func TestFilesHaveEveryReadingOfADayOnce(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	w := jobstest.NewWorldSince(t, 3*24*time.Hour, 8, 100)
	f := w.NewFleet(t)
	must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
	d := daysOf(t, f, nil)
	must.Succeed(t, d.Store.Create(t.Context()))
	d.FileBytes = 40 * 60 // readings of about two devices
	today := schema.DayOf(tables.TicksOf(time.Now()))
	all := folders(today-2, today-1)
	for range 2 { // the second time changes nothing
		for _, folder := range all {
			m := must.Have(d.MakeDay(t.Context(), folder, archive.Asked{}))(t)
			if len(m.Files) < 2 {
				t.Errorf("%v has %d files", folder, len(m.Files))
			}
		}
		same(t, archived(t, f), expected(t, f, func(day schema.Day) bool { return day < today && day >= today-2 }))
	}
	for _, folder := range all {
		described(t, f, d.Store, folder)
	}
}

// described checks that the manifest of a folder, if there is one, says what the files are.
func described(t testing.TB, f *jobstest.Fleet, s *archive.Store, folder archive.Folder) (is bool) {
	t.Helper()
	m, err := s.Manifest(t.Context(), folder)
	if errors.Is(err, archive.ErrNoManifest) {
		return false
	}
	must.Succeed(t, err)
	files := objects(t, f.World.Account, f.Names.Archive())
	readings, before := int64(0), schema.DeviceID("")
	for _, file := range m.Files {
		content := files[file.Name]
		sum := sha256.Sum256(content)
		if file.Bytes != int64(len(content)) || file.SHA256 != hex.EncodeToString(sum[:]) || file.First != before {
			t.Errorf("%v: %+v", folder, file)
		}
		readings, before = readings+file.Readings, file.Before
	}
	if m.Readings != readings || before != "" || m.Watermark.IsZero() {
		t.Errorf("%v: %+v", folder, m)
	}
	return true
}

// TestSensorsGetColumnsWheneverTheyAppear: in the first file of a fleet, and in later rows of any device.
func TestSensorsGetColumnsWheneverTheyAppear(t *testing.T) {
	t.Parallel()
	f, d, folder := fewFiles(t)
	day := func(d schema.Day) bool { return d == folder.Day }
	table := f.World.Connect(t, nil).Table(f.Readings)
	for n, property := range []tables.Property{{Name: "tilt", Value: tables.Double(1)},
		{Name: "tilt", Value: tables.String("high")}, {Name: "temperature", Value: tables.String("broken")}} {
		for _, device := range f.World.Devices {
			e := tables.Entity{PartitionKey: string(device), RowKey: (folder.Day.Start() + tables.Ticks(n)).String()}
			e.Set(property.Name, property.Value)
			jobstest.Insert(t, table, e)
		}
		for _, folder := range folders(folder.Day, folder.Day) {
			must.Have(d.MakeDay(t.Context(), folder, archive.Asked{}))(t)
		}
		same(t, archived(t, f), expected(t, f, day), n)
	}
	m := must.Have(d.Store.Manifest(t.Context(), folder))(t)
	both := columnar.Numbers | columnar.Texts
	if m.Expect.Sensors["tilt"] != both || m.Expect.Sensors["temperature"] != both {
		t.Errorf("expected columns %v", m.Expect)
	}
}

// TestSiteAndLabelsAreColumns where they are asked for.
func TestSiteAndLabelsAreColumns(t *testing.T) {
	t.Parallel()
	f, d, folder := fewFiles(t)
	fleet := f.World.Connect(t, nil).Table(f.Names.Fleet())
	for n, device := range f.World.Devices[:3] {
		m := f.World.Member(device, f.Readings)
		m.Site, m.Labels = schema.Site(fmt.Sprint("hall ", n)), map[string]string{"my class": "Fryer"}
		must.Have(fleet.Do(t.Context(), tables.InsertOrReplace(must.Have(m.Entity())(t))))(t)
	}
	d.About = archive.About{"site", "labels.my class", "labels.none"}
	m := must.Have(d.MakeDay(t.Context(), folder, archive.Asked{}))(t)
	content := objects(t, f.World.Account, f.Names.Archive())[m.Files[0].Name]
	r := must.Have(columnar.Open(bytes.NewReader(content), int64(len(content))))(t)
	one := must.Have(r.Next())(t)
	want := `["site" "labels_my_class" "labels_none"] ["hall 0" "Fryer" ""]`
	got := fmt.Sprintf("%q %q", r.Columns.About, one.About)
	if got != want {
		t.Errorf("about the device: %s, want %s", got, want)
	}
}
