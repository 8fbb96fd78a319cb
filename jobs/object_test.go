package jobs_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/commit"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
)

// archiver returns the fleet's pipeline with the archive alone, which closes days so long after their end. Its tables
// and objects share one transport.
func archiver(t *testing.T, f *jobstest.Fleet, through policy.Transporter, closeAfter time.Duration) *jobs.Pipeline {
	t.Helper()
	store := must.Have(archive.Connect(archive.StoreConfig{Account: f.World.Account, Container: f.Names.Archive(),
		Transport: through, Retry: policy.RetryOptions{MaxRetries: -1}}))(t)
	p := f.Pipeline(t, through)
	p.Processors = []fold.Configured{jobstest.With(t, archive.Processor, &archive.Config{CloseAfter: closeAfter})}
	p.Objects = store
	return p
}

const (
	soon  = time.Nanosecond
	never = 100 * 365 * 24 * time.Hour
)

// lateArchive is a fleet that folded most rows and closed no day before the others came.
func (w *lateWorld) lateArchive(t *testing.T) *jobstest.Fleet {
	t.Helper()
	readings := fmt.Sprintf("late%d", w.made.Add(1))
	w.Insert(t, readings, func(n int) bool { return !isLate(n) && !isNew(n) })
	f := w.NewFleetOf(t, readings)
	p := archiver(t, f, nil, never)
	must.Succeed(t, p.Objects.(*archive.Store).Create(t.Context()))
	must.Succeed(t, f.Drain(t.Context(), p))
	w.Insert(t, readings, func(n int) bool { return isLate(n) || isNew(n) })
	return f
}

// archived returns the ends of a fleet with its objects.
func archived(t *testing.T, f *jobstest.Fleet) map[string]string {
	t.Helper()
	ends := jobstest.WithoutHistory(f.Ends(t))
	for name, content := range objects(t, f.World.Account, f.Names.Archive()) {
		ends[name] = fmt.Sprintf("%d bytes, %x", len(content), sha256.Sum256(content))
	}
	return ends
}

// TestLateRowsBeforeADayClosesNeedNoSecondObject if nothing else was made of them.
func TestLateRowsBeforeADayClosesNeedNoSecondObject(t *testing.T) {
	t.Parallel()
	w := &lateWorld{World: jobstest.NewWorldSince(t, 6*24*time.Hour, 2, 40)}
	for _, alone := range []bool{true, false} {
		f := w.lateArchive(t)
		p := archiver(t, f, nil, soon)
		if !alone {
			p.Processors = append(p.Processors, latest.Processor.Default())
		}
		must.Succeed(t, f.Drain(t.Context(), p))
		found := readArchive(t, w.Account, f.Names.Archive())
		today := schema.DayOf(tables.TicksOf(time.Now())).Start().String()
		want := 0
		for _, rows := range w.Rows {
			for n, e := range rows {
				_, err := schema.ParseRowKey(e.RowKey)
				closed := e.RowKey < today
				if (found[e.PartitionKey+"/"+e.RowKey] != "") != (closed && err == nil) {
					t.Errorf("row %d, %s, late %v: %q", n, e.RowKey, isLate(n), found[e.PartitionKey+"/"+e.RowKey])
				}
				// Those of today are in no object yet, and an audit writes rejects.
				if isLate(n) && (!alone || !closed || err != nil) {
					want++
				}
			}
		}
		r := must.Have(p.Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil))(t)
		if r.Late != want || r.Missing != 0 {
			t.Errorf("alone %v: the audit finds %d late rows, and %d missing; want %d, and none", alone, r.Late, r.Missing, want)
		}
		if track := f.Track(t, w.Devices[0]); track.Get("Rows").Int() != 40 {
			t.Errorf("alone %v: %v rows were counted of 40", alone, track.Get("Rows"))
		}
	}
}

// TestAuditOfDaysThatWaitLosesNone: an audit starts at the first day that is not closed, and by then more days are over
// than those with late rows.
func TestAuditOfDaysThatWaitLosesNone(t *testing.T) {
	t.Parallel()
	w, want := calmArchive(t)
	f := w.lateArchive(t)
	p := archiver(t, f, nil, soon)
	r, err := p.Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil)
	if err != nil || r.Refolds != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	must.Succeed(t, f.Drain(t.Context(), p))
	jobstest.SameEnds(t, archived(t, f), want)
}

// archives begins trials of late rows for an archive, whose tables and objects both meet trouble.
func archives(t *testing.T) func() trial {
	w, want := calmArchive(t)
	return func() trial {
		f := w.lateArchive(t)
		return trial{func(through policy.Transporter) *jobs.Pipeline { return archiver(t, f, through, soon) }, f.Settle,
			func(about ...any) { t.Helper(); jobstest.SameEnds(t, archived(t, f), want, about...) }}
	}
}

// calmArchive returns what one worker archives without any trouble.
func calmArchive(t *testing.T) (w *lateWorld, want map[string]string) {
	t.Helper()
	w = &lateWorld{World: jobstest.NewWorldSince(t, 6*24*time.Hour, 2, 40)}
	f := w.lateArchive(t)
	must.Succeed(t, f.Settle(t.Context(), archiver(t, f, nil, soon)))
	return w, archived(t, f)
}

func TestEqualArchivesWithAnyFaultAtAnyOperation(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	everyFault(t, archives(t), true, faults.AnswerLost, faults.Twice, faults.Cut, faults.ServerBusy, faults.TimedOutDone,
		faults.EmptyPage)
}

func TestEqualArchivesWhereverAWorkerStops(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	everyStop(t, archives(t), func(n int, done, dies bool) bool { return (n%2 == 0) == (done == dies) })
}

// place stores objects as a test demands.
type place func(name string, readings []string) error

func (p place) Write(_ context.Context, name string, _ tables.Ticks, readings iter.Seq2[schema.Reading, error]) error {
	var keys []string
	for r, err := range readings {
		if err != nil {
			return err
		}
		keys = append(keys, r.Key.String())
	}
	return p(name, keys)
}

// yesterday returns a fleet of one device with a row at each of these hours of yesterday.
func yesterday(t *testing.T, hours ...int) (*jobstest.Fleet, func(hour int) tables.Entity) {
	t.Helper()
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -1)
	row := func(hour int) tables.Entity {
		e := tables.Entity{RowKey: tables.TicksOf(day.Add(time.Duration(hour) * time.Hour)).String()}
		e.Set("n", tables.Int32(int32(hour)))
		return e
	}
	return seedDevice(t, len(hours), func(n int) tables.Entity { return row(hours[n]) }), row
}

// TestRowsAboveTheCheckpointWaitForTheNextObject: rows that arrive while a job works are not folded yet, and so are in
// none of its objects.
func TestRowsAboveTheCheckpointWaitForTheNextObject(t *testing.T) {
	f, row := yesterday(t, 9, 10)
	p := archiver(t, f, nil, soon)
	late := row(11)
	late.PartitionKey = string(f.World.Devices[0])
	var written [][]string
	keep := place(func(_ string, keys []string) error { written = append(written, keys); return nil })
	p.Objects = before{keep, func() {
		if _, err := f.World.Connect(t, nil).Table("own").Do(t.Context(), tables.Insert(late)); err != nil &&
			!errors.Is(err, tables.ErrExists) {
			t.Error(err)
		}
	}}
	must.Succeed(t, f.Drain(t.Context(), p))
	want := [][]string{{row(9).RowKey, row(10).RowKey}, {row(9).RowKey, row(10).RowKey, row(11).RowKey}}
	if fmt.Sprint(written) != fmt.Sprint(want) {
		t.Errorf("%v were written; want %v", written, want)
	}
}

// before calls a function before each object.
type before struct {
	commit.Objects
	do func()
}

func (b before) Write(ctx context.Context, name string, fence tables.Ticks, readings iter.Seq2[schema.Reading,
	error]) error {
	b.do()
	return b.Objects.Write(ctx, name, fence, readings)
}

func TestOvertakenObjectDropsItsDevice(t *testing.T) {
	f, _ := yesterday(t, 9)
	p := archiver(t, f, nil, soon)
	p.Objects = place(func(string, []string) error { return fmt.Errorf("as asked: %w", commit.ErrOvertaken) })
	r, err := p.Run(t.Context(), f.Batch)
	track := f.Track(t, f.World.Devices[0])
	if err != nil || r.Overtaken != 1 || len(r.Failed) != 0 || track.Get("LastReadRowKey").Text() != "" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestObjectThatCannotBeWrittenIsTheJobsError(t *testing.T) {
	f, row := yesterday(t, 9)
	p := archiver(t, f, nil, soon)
	p.Objects = place(func(string, []string) error { return tables.ErrBusy })
	if _, err := p.Run(t.Context(), f.Batch); !errors.Is(err, tables.ErrBusy) || !strings.Contains(err.Error(),
		"date="+schema.DayOf(tables.TicksBefore(row(9).RowKey)).String()) {
		t.Errorf("%v", err)
	}
	p.Objects = nil
	r, err := p.Run(t.Context(), f.Batch)
	if err != nil || len(r.Failed) != 1 || !strings.Contains(r.Failed[f.World.Place(f.World.Devices[0])].Error(),
		"no container") {
		t.Errorf("without a place for objects: %+v, %v", r, err)
	}
}

// TestObjectsAreReadPageByPage: rows come in order from many pages, some of them empty.
func TestObjectsAreReadPageByPage(t *testing.T) {
	start := tables.TicksOf(time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -1))
	f := seedDevice(t, 2500, func(n int) tables.Entity {
		return tables.Entity{RowKey: start.Add(time.Duration(n) * time.Second).String()}
	})
	p := archiver(t, f, nil, soon)
	empty := faults.Random{Rates: map[faults.Fault]float64{faults.EmptyPage: 0.3}}
	p.Client = f.World.Connect(t, &faults.Transport{Plan: empty})
	var written []string
	p.Objects = place(func(_ string, keys []string) error { written = keys; return nil })
	must.Succeed(t, f.Drain(t.Context(), p))
	if len(written) != 2500 || !slices.IsSorted(written) {
		t.Errorf("%d readings", len(written))
	}
}

// archiving returns the fleet's pipeline with the archive alone, and a function that reads the archive.
func archiving(t *testing.T, f *jobstest.Fleet, container string) (*jobs.Pipeline, func() map[string]string) {
	t.Helper()
	p := f.Pipeline(t, nil)
	p.Processors = []fold.Configured{archive.Processor.Default()}
	store := must.Have(archive.Connect(archive.StoreConfig{Account: f.World.Account, Container: container}))(t)
	must.Succeed(t, store.Create(t.Context()))
	p.Objects = store
	return p, func() map[string]string { return readArchive(t, f.World.Account, container) }
}

// readArchive reads all objects as any program would, and returns the object of each reading, by device and row key.
func readArchive(t *testing.T, a tables.Account, container string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name, content := range objects(t, a, container) {
		unzipped := must.Have(gzip.NewReader(bytes.NewReader(content)))(t)
		lines := bufio.NewScanner(unzipped)
		for lines.Scan() {
			var r struct{ Device, Key string }
			must.Succeed(t, json.Unmarshal(lines.Bytes(), &r))
			id := r.Device + "/" + r.Key
			if found[id] != "" {
				t.Errorf("%s is in %s and in %s", id, found[id], name)
			}
			found[id] = name
		}
		must.Succeed(t, lines.Err())
	}
	return found
}

// objects downloads all objects of a container.
func objects(t *testing.T, a tables.Account, container string) map[string][]byte {
	t.Helper()
	key := must.Have(azblob.NewSharedKeyCredential(a.Name, a.Key))(t)
	client := must.Have(azblob.NewClientWithSharedKeyCredential(a.Blob, key, nil))(t)
	all := map[string][]byte{}
	for pages := client.NewListBlobsFlatPager(container, nil); pages.More(); {
		page := must.Have(pages.NextPage(t.Context()))(t)
		for _, item := range page.Segment.BlobItems {
			object := must.Have(client.DownloadStream(t.Context(), container, *item.Name, nil))(t)
			all[*item.Name] = must.Have(io.ReadAll(object.Body))(t)
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
	jobstest.Work(t, p, f.Audit(refold.Full))
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
