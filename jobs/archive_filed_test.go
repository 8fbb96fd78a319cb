package jobs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/archive/delta"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/go-json-experiment/json"
	"github.com/parquet-go/parquet-go"
)

// A log is what a table's log says to those who have nothing but the container: the date of each live file.
type log map[string]string

// logOf follows the log of the table in a folder, from its last checkpoint on if it has one.
func logOf(t testing.TB, objects map[string][]byte, folder string) log {
	t.Helper()
	type action struct {
		Add    *delta.Add    `json:"add" parquet:"add,optional"`
		Remove *delta.Remove `json:"remove" parquet:"-"`
	}
	live, next := log{}, int64(0)
	add := func(a *delta.Add) { live[folder+must.Have(url.PathUnescape(a.Path))(t)] = a.Partition["date"] }
	if file := objects[folder+delta.LastCheckpoint]; file != nil {
		next = must.Have(delta.ParseLast(file))(t).Version
		file = objects[folder+delta.CheckpointFile(next)]
		for _, a := range must.Have(parquet.Read[action](bytes.NewReader(file), int64(len(file))))(t) {
			if a.Add != nil {
				add(a.Add)
			}
		}
		next++
	}
	for ; objects[folder+delta.VersionFile(next)] != nil; next++ {
		for line := range bytes.Lines(objects[folder+delta.VersionFile(next)]) {
			var a action
			must.Succeed(t, json.Unmarshal(line, &a))
			if a.Remove != nil {
				delete(live, folder+must.Have(url.PathUnescape(a.Remove.Path))(t))
			}
			if a.Add != nil {
				add(a.Add)
			}
		}
	}
	return live
}

// filed returns where the published logs of all tables of readings say that each reading is, by device and row key: its
// tenant and day, or the hour of an open day, and what its row says. It fails where one is there twice, and where the
// catalog has other files than a log.
func filed(t testing.TB, f *jobstest.Fleet) map[string]string {
	t.Helper()
	found := map[string]string{}
	all, m := objects(t, f.World.Account, f.Names.Archive()), tablesOf(filing(t, f, nil))
	for tenant, err := range m.Tenants(t.Context()) {
		must.Succeed(t, err)
		of := m.Readings(tenant)
		live, whole := logOf(t, all, of.Folder()), map[string]bool{}
		for d, err := range of.Days(t.Context()) {
			must.Succeed(t, err)
			whole[d.Date.String()] = d.Watermark > 0
		}
		held := map[string]catalog.File{}
		for file, err := range of.AllFiles(t.Context()) {
			must.Succeed(t, err)
			held[of.Path(&file)] = file
			if date := live[of.Path(&file)]; date != file.Date.String() {
				t.Errorf("file %s has date %q in the log, and %s in the catalog", of.Path(&file), date, file.Date)
			}
		}
		for path, date := range live {
			rows := readingsOf(t, all[path])
			if int64(len(rows)) != held[path].Stats.Rows {
				t.Errorf("file %s has %d rows, and %d in the catalog", path, len(rows), held[path].Stats.Rows)
			}
			hours := map[string]bool{}
			for _, one := range rows {
				where := fmt.Sprintf("tenant=%s/date=%s", tenant, date)
				if !whole[date] {
					where += hourOf(one.Sample.Key.Ticks)
					hours[where] = true
				}
				id := fmt.Sprint(one.Device, "/", one.Sample.Key)
				if found[id] != "" {
					t.Errorf("%s is in %s and in %s", id, found[id], where)
				}
				found[id] = where + ": " + columnar.Cells(&one.Sample)
			}
			if len(hours) > 1 {
				t.Errorf("file %s of an open day has more than one hour: %v", path, hours)
			}
		}
	}
	return found
}

func hourOf(at tables.Ticks) string { return fmt.Sprintf("/hour=%02d", at.Time().Hour()) }

// readingsOf returns what a file of readings has.
func readingsOf(t testing.TB, content []byte) (all []columnar.StoredReading) {
	t.Helper()
	r := must.Have(columnar.OpenReadings(bytes.NewReader(content), int64(len(content))))(t)
	for {
		one, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		must.Succeed(t, err)
		all = append(all, one)
	}
}

// objects downloads all objects of a container.
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

// filedAs returns what filed says of a row that is a reading of a tenant.
func filedAs(tenant schema.Tenant, r schema.Reading, hourly bool) string {
	sample, _ := (&fold.Sensors{}).Sample(r)
	where := fmt.Sprintf("tenant=%s/date=%s", tenant, schema.DayOf(r.Key.Ticks))
	if hourly {
		where += hourOf(r.Key.Ticks)
	}
	return where + ": " + columnar.Cells(&sample)
}

// closedReadings returns what the archive should have of the readings in storage, with those of closed hours.
func closedReadings(t testing.TB, f *jobstest.Fleet, hourly bool) map[string]string {
	t.Helper()
	now, want := tables.TicksOf(time.Now()), map[string]string{}
	today, thisHour := schema.DayOf(now), schema.Hour.Start(now)
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Readings), tables.Query{}) {
		r, err := schema.ReadingOf(e)
		if open := schema.DayOf(r.Key.Ticks) >= today; err == nil && (!open || hourly && r.Key.Ticks < thisHour) {
			want[e.PartitionKey+"/"+e.RowKey] = filedAs(f.World.Member(r.Device, "").Tenant, r, open)
		}
	}
	return want
}

// nothingWrong verifies all tables of a pipeline's archive: against their files, and every day, with its rollups,
// against the readings in storage.
func nothingWrong(t testing.TB, p *jobs.Pipeline, about string) {
	t.Helper()
	m := tablesOf(p)
	for tenant, err := range m.Tenants(t.Context()) {
		must.Succeed(t, err)
		for one, err := range m.Verify(t.Context(), tenant, true, tables.TicksOf(time.Now())) {
			must.Succeed(t, err)
			if len(one.Wrong) > 0 {
				t.Errorf("%s: table %s of %s: %s", about, one.Table, tenant, strings.Join(one.Wrong, "; "))
			}
		}
		for d, err := range m.Readings(tenant).Days(t.Context()) {
			must.Succeed(t, err)
			for _, part := range must.Have(m.Parts(t.Context(), tenant, d))(t) {
				for _, wrong := range must.Have(m.VerifyDay(t.Context(), part))(t) {
					t.Errorf("%s: %s of %s: %s", about, part.When(), tenant, wrong)
				}
			}
		}
	}
}

// closedMarks returns the marks of days and hours that are over.
func closedMarks(t testing.TB, f *jobstest.Fleet) (left []string) {
	t.Helper()
	now := tables.TicksOf(time.Now())
	today, thisHour := schema.DayOf(now), now.Time().Hour()
	for _, part := range archiveMarks(t, f) {
		if part.Day < today || part.Hour > 0 && part.Hour <= thisHour {
			left = append(left, part.Name())
		}
	}
	return left
}

// archiveMarks returns the days and hours that have marks.
func archiveMarks(t testing.TB, f *jobstest.Fleet) (all []schema.ArchivePart) {
	t.Helper()
	marks := tables.Query{Range: schema.Marks(jobstest.Month, schema.ArchiveMark)}
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Partitions("live")), marks) {
		if mark := must.Have(schema.MarkOf(e))(t); !strings.HasPrefix(mark.Name, "clean") {
			all = append(all, must.Have(mark.Archive())(t))
		}
	}
	return all
}
