package jobs_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
)

// archiving is the fleet's pipeline with the archive alone, and what reads it.
func archiving(t *testing.T, f *jobstest.Fleet, container string) (*jobs.Pipeline, func() map[string]string) {
	t.Helper()
	p := f.Pipeline(t, nil)
	p.Processors = []jobs.Configured{archive.Processor.Default()}
	store, err := archive.Connect(archive.StoreConfig{Account: f.World.Account, Container: container})
	jobstest.Must(t, err)
	jobstest.Must(t, store.Create(t.Context()))
	p.Objects = store
	return p, func() map[string]string { return readArchive(t, f.World.Account, container) }
}

// readArchive reads all objects as any program would: which object each reading
// is in, by device and row key.
func readArchive(t *testing.T, a tables.Account, container string) map[string]string {
	t.Helper()
	key, err := azblob.NewSharedKeyCredential(a.Name, a.Key)
	jobstest.Must(t, err)
	client, err := azblob.NewClientWithSharedKeyCredential(a.Blob, key, nil)
	jobstest.Must(t, err)
	found := map[string]string{}
	pages := client.NewListBlobsFlatPager(container, nil)
	for pages.More() {
		page, err := pages.NextPage(t.Context())
		jobstest.Must(t, err)
		for _, item := range page.Segment.BlobItems {
			object, err := client.DownloadStream(t.Context(), container, *item.Name, nil)
			jobstest.Must(t, err)
			unzipped, err := gzip.NewReader(object.Body)
			jobstest.Must(t, err)
			lines := bufio.NewScanner(unzipped)
			for lines.Scan() {
				var r struct{ Device, Key string }
				jobstest.Must(t, json.Unmarshal(lines.Bytes(), &r))
				id := r.Device + "/" + r.Key
				if found[id] != "" {
					t.Errorf("%s is in %s and in %s", id, found[id], *item.Name)
				}
				found[id] = *item.Name
			}
			jobstest.Must(t, lines.Err())
		}
	}
	return found
}

// TestArchiveHasEveryReadingOfTheClosedDaysOnce also when some come late.
func TestArchiveHasEveryReadingOfTheClosedDaysOnce(t *testing.T) {
	w := jobstest.NewWorldSince(t, 14*24*time.Hour, 2, 60)
	readings := "late"
	late := func(n int) bool { return n%9 == 4 }
	w.Insert(t, readings, func(n int) bool { return !late(n) })
	f := w.NewFleetOf(t, readings)
	p, read := archiving(t, f, "archive")
	work := func() {
		l := &jobstest.Line{Queue: []jobs.Message{f.Message()}, Delays: []time.Duration{0}}
		l.Work(t, p) // the days are more than one job closes
	}
	work()
	before := read()
	w.Insert(t, readings, late)
	l := &jobstest.Line{Queue: []jobs.Message{f.Audit(jobs.Full)}, Delays: []time.Duration{0}}
	l.Work(t, p)
	after := read()
	today := schema.DayOf(tables.TicksOf(time.Now().Add(-time.Hour))).Start() // a day is awaited for an hour
	audited := tables.TicksOf(time.Now().Add(-8 * 24 * time.Hour))            // no further back is looked for late rows
	for _, rows := range w.Rows {
		for n, e := range rows {
			key, err := schema.ParseRowKey(e.RowKey)
			id := e.PartitionKey + "/" + e.RowKey
			closed := err == nil && key.Ticks < today
			if got := before[id] != ""; got != (closed && !late(n)) {
				t.Errorf("before the late ones: row %d, %s: archived %v", n, id, got)
			}
			if want := closed; (after[id] != "") != want && (!late(n) || key.Ticks > audited) {
				t.Errorf("with the late ones: row %d, %s: archived %v", n, id, after[id] != "")
			}
			if want := fmt.Sprintf("date=%s/", schema.DayOf(key.Ticks)); after[id] != "" && !strings.Contains(after[id], want) {
				t.Errorf("%s is in %s", id, after[id])
			}
		}
	}
	if len(after) <= len(before) {
		t.Errorf("%d readings before, %d after", len(before), len(after))
	}
}
