package jobs_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
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

// archiving returns the fleet's pipeline with the archive alone, and a function that reads the archive.
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

// readArchive reads all objects as any program would, and returns the object of each reading, by device and row key.
func readArchive(t *testing.T, a tables.Account, container string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name, content := range objects(t, a, container) {
		unzipped, err := gzip.NewReader(bytes.NewReader(content))
		jobstest.Must(t, err)
		lines := bufio.NewScanner(unzipped)
		for lines.Scan() {
			var r struct{ Device, Key string }
			jobstest.Must(t, json.Unmarshal(lines.Bytes(), &r))
			id := r.Device + "/" + r.Key
			if found[id] != "" {
				t.Errorf("%s is in %s and in %s", id, found[id], name)
			}
			found[id] = name
		}
		jobstest.Must(t, lines.Err())
	}
	return found
}

// objects downloads all objects of a container.
func objects(t *testing.T, a tables.Account, container string) map[string][]byte {
	t.Helper()
	key, err := azblob.NewSharedKeyCredential(a.Name, a.Key)
	jobstest.Must(t, err)
	client, err := azblob.NewClientWithSharedKeyCredential(a.Blob, key, nil)
	jobstest.Must(t, err)
	all := map[string][]byte{}
	for pages := client.NewListBlobsFlatPager(container, nil); pages.More(); {
		page, err := pages.NextPage(t.Context())
		jobstest.Must(t, err)
		for _, item := range page.Segment.BlobItems {
			object, err := client.DownloadStream(t.Context(), container, *item.Name, nil)
			jobstest.Must(t, err)
			all[*item.Name], err = io.ReadAll(object.Body)
			jobstest.Must(t, err)
		}
	}
	return all
}

// TestArchiveHasEveryReadingOfTheClosedDaysOnce even if some come late.
func TestArchiveHasEveryReadingOfTheClosedDaysOnce(t *testing.T) {
	w := jobstest.NewWorldSince(t, 14*24*time.Hour, 2, 60)
	readings := "late"
	late := func(n int) bool { return n%9 == 4 }
	w.Insert(t, readings, func(n int) bool { return !late(n) })
	f := w.NewFleetOf(t, readings)
	p, read := archiving(t, f, "archive")
	work := func() {
		jobstest.Work(t, p, f.Message()) // there are more days than one job closes
	}
	work()
	before := read()
	w.Insert(t, readings, late)
	jobstest.Work(t, p, f.Audit(jobs.Full))
	after := read()
	today := schema.DayOf(tables.TicksOf(time.Now().Add(-time.Hour))).Start() // a day stays open for an hour
	audited := tables.TicksOf(time.Now().Add(-8 * 24 * time.Hour))            // audits look no further back
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
