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
	"furrow/tables"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
)

// archiving is the fleet's pipeline with the archive alone, and what reads it.
func (f *fleet) archiving(t *testing.T, container string) (*jobs.Pipeline, func() map[string]string) {
	t.Helper()
	p := f.pipeline(t, nil)
	fold, err := archive.New(archive.Config{})
	must(t, err)
	p.Processors = []jobs.Processor{{Name: "archive", Fold: fold}}
	store, err := archive.Connect(archive.StoreConfig{Account: f.world.account, Container: container})
	must(t, err)
	must(t, store.Create(t.Context()))
	p.Objects = store
	return p, func() map[string]string { return readArchive(t, f.world.account, container) }
}

// readArchive reads all objects as any program would: which object each reading
// is in, by device and row key.
func readArchive(t *testing.T, a tables.Account, container string) map[string]string {
	t.Helper()
	key, err := azblob.NewSharedKeyCredential(a.Name, a.Key)
	must(t, err)
	client, err := azblob.NewClientWithSharedKeyCredential(a.Blob, key, nil)
	must(t, err)
	found := map[string]string{}
	pages := client.NewListBlobsFlatPager(container, nil)
	for pages.More() {
		page, err := pages.NextPage(t.Context())
		must(t, err)
		for _, item := range page.Segment.BlobItems {
			object, err := client.DownloadStream(t.Context(), container, *item.Name, nil)
			must(t, err)
			unzipped, err := gzip.NewReader(object.Body)
			must(t, err)
			lines := bufio.NewScanner(unzipped)
			for lines.Scan() {
				var r struct{ Device, Key string }
				must(t, json.Unmarshal(lines.Bytes(), &r))
				id := r.Device + "/" + r.Key
				if found[id] != "" {
					t.Errorf("%s is in %s and in %s", id, found[id], *item.Name)
				}
				found[id] = *item.Name
			}
			must(t, lines.Err())
		}
	}
	return found
}

// TestArchiveHasEveryReadingOfTheClosedDaysOnce also when some come late.
func TestArchiveHasEveryReadingOfTheClosedDaysOnce(t *testing.T) {
	w := newWorldSince(t, 14*24*time.Hour, 2, 60)
	readings := "late"
	late := func(n int) bool { return n%9 == 4 }
	w.insert(t, readings, func(n int) bool { return !late(n) })
	f := w.newFleetOf(t, readings)
	p, read := f.archiving(t, "archive")
	work := func() {
		l := &line{queue: []jobs.Message{f.message()}, delay: []time.Duration{0}}
		l.work(t, p) // the days are more than one job closes
	}
	work()
	before := read()
	w.insert(t, readings, late)
	l := &line{queue: []jobs.Message{f.audit(jobs.Full)}, delay: []time.Duration{0}}
	l.work(t, p)
	after := read()
	today := tables.DayOf(tables.TicksOf(time.Now().Add(-time.Hour))).Start() // a day is awaited for an hour
	audited := tables.TicksOf(time.Now().Add(-8 * 24 * time.Hour))            // no further back is looked for late rows
	for _, rows := range w.rows {
		for n, e := range rows {
			key, err := tables.ParseRowKey(e.RowKey)
			id := e.PartitionKey + "/" + e.RowKey
			closed := err == nil && key.Ticks < today
			if got := before[id] != ""; got != (closed && !late(n)) {
				t.Errorf("before the late ones: row %d, %s: archived %v", n, id, got)
			}
			if want := closed; (after[id] != "") != want && (!late(n) || key.Ticks > audited) {
				t.Errorf("with the late ones: row %d, %s: archived %v", n, id, after[id] != "")
			}
			if want := fmt.Sprintf("date=%s/", tables.DayOf(key.Ticks)); after[id] != "" && !strings.Contains(after[id], want) {
				t.Errorf("%s is in %s", id, after[id])
			}
		}
	}
	if len(after) <= len(before) {
		t.Errorf("%d readings before, %d after", len(before), len(after))
	}
}
