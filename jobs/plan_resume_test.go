package jobs_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

var largest = flag.Int("jobs.month", 10_000, "how many devices the month of TestALargeMonthTakesLittleMemory has")

// TestAnotherWorkerContinuesAfterADeadOne: only what was put since the last save is put twice.
func TestAnotherWorkerContinuesAfterADeadOne(t *testing.T) {
	t.Parallel()
	r := newRoster(t)
	rng := rand.New(rand.NewPCG(6, 0))
	const months, each = 50, 3
	for n := range months {
		r.add(t, rng, schema.Month{Year: 2026, Month: time.November, Shard: n}, each)
	}
	large := schema.Month{Year: 2026, Month: time.December}
	r.add(t, rng, large, 200)

	// a page has one month; the run's row, the audits' marks, and a seek and a put for each
	w := &workplace{at: 2 + 6 + 2*45, wrong: killedAfter, pages: "3"}
	w.do(t, r.pipeline(t, w), r.begin(t))
	if n := len(w.put); n <= months+1 || n > months+1+20 {
		t.Errorf("two masters put %d month jobs for %d months", n, months+1)
	}

	w = &workplace{at: -1, pages: "20"}
	p := r.pipeline(t, w)
	p.Batch = 4
	m := r.begin(t)
	m.Kind, m.Month = jobs.Month, large
	w.do(t, p, m)
	calm := len(w.put)
	w = &workplace{at: w.n * 3 / 4, wrong: killedAfter, pages: "20"}
	p = r.pipeline(t, w)
	p.Batch = 4
	w.do(t, p, m)
	if n := len(w.put); n < calm || n > calm+20/4+1 {
		t.Errorf("two workers put %d batches for %d", n, calm)
	}
}

// A wide is a service that has one month of any number of devices, each with a tracking row, without storing them. It
// has no runs.
type wide struct {
	account tables.Account
	devices int
	asked   int
}

func newWide(devices int) *wide {
	a, _ := tables.ParseAccount("DefaultEndpointsProtocol=http;AccountName=a;AccountKey=a2V5;TableEndpoint=http://wide/a")
	return &wide{account: a, devices: devices}
}

func (w *wide) Do(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	h := http.Header{"Content-Type": {"application/json"}, "Date": {time.Now().UTC().Format(http.TimeFormat)}}
	if r.Method != http.MethodGet || strings.Contains(r.URL.Path, "runs") {
		status := http.StatusNoContent
		if r.Method == http.MethodGet {
			status, h["X-Ms-Error-Code"] = http.StatusNotFound, []string{"ResourceNotFound"}
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
	}
	w.asked++
	from, _ := strconv.Atoi(strings.TrimPrefix(q.Get("NextRowKey"), "t!d"))
	var rows []string
	for n := from; n < min(from+1000, w.devices); n++ {
		row := fmt.Sprintf(`{"PartitionKey":"2026-11","RowKey":"t!d%09d"`, n)
		if !strings.Contains(r.URL.Path, "fleet") {
			row += `,"Rows@odata.type":"Edm.Int64","Rows":"7","LastReadRowKey":"0639307674397141190"`
		}
		rows = append(rows, row+"}")
	}
	if from+1000 < w.devices {
		h["X-Ms-Continuation-Nextpartitionkey"] = []string{"2026-11"}
		h["X-Ms-Continuation-Nextrowkey"] = []string{fmt.Sprintf("t!d%09d", from+1000)}
	}
	body := `{"value":[` + strings.Join(rows, ",") + `]}`
	return &http.Response{StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r},
		nil
}

func (w *wide) pipeline(t *testing.T) *jobs.Pipeline {
	t.Helper()
	c, err := tables.Connect(tables.Config{Account: w.account, Transport: w, Retry: policy.RetryOptions{MaxRetries: -1}})
	must.Succeed(t, err)
	return &jobs.Pipeline{Name: "live", Client: c}
}

func (w *wide) month() jobs.Message {
	return jobs.Message{Kind: jobs.Month, Pipeline: "live", Run: tables.TicksOf(time.Now()), Month: jobstest.Month}
}

// A putFunc takes messages.
type putFunc func(jobs.Message) error

func (f putFunc) Put(_ context.Context, m jobs.Message, _ time.Duration) error { return f(m) }

func TestALargeMonthTakesLittleMemory(t *testing.T) {
	w := newWide(*largest)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most, batches := heap(), uint64(0), 0
	put := putFunc(func(jobs.Message) error {
		if batches++; batches%40 == 0 {
			most = max(most, heap())
		}
		return nil
	})
	start := time.Now()
	res, err := w.pipeline(t).Do(t.Context(), w.month(), put, saveInto(&jobs.Message{}))
	if err != nil || res.Batches != batches || batches != (*largest+49)/50 {
		t.Fatalf("%d batches, %+v, %v", batches, res, err)
	}
	t.Logf("%d devices: %d batches, at most %d KiB of heap, %d queries, %v", *largest, batches,
		int64(most-min(most, before))>>10, w.asked, time.Since(start))
	if most > before+8<<20 {
		t.Errorf("%d bytes of heap before, %d at most", before, most)
	}
}

// TestProgressIsSavedWithinAThirdOfTheLease lets each message take a second.
func TestProgressIsSavedWithinAThirdOfTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWide(100) // one page
		p := w.pipeline(t)
		p.Batch = 1
		last, saves := time.Now(), 0
		put := putFunc(func(jobs.Message) error {
			time.Sleep(time.Second)
			if since := time.Since(last); since > 11*time.Second {
				t.Errorf("%v without a save", since)
			}
			return nil
		})
		must.Have(p.Do(t.Context(), w.month(), put, func(_ context.Context, m jobs.Message) error {
			last = time.Now()
			saves++
			return nil
		}))(t)
		if saves < 9 || saves > 11 {
			t.Errorf("%d saves in 100 s", saves)
		}
	})
}

// TestMonthsThatEndAtOnceAreAllCounted has each done twice at the same time.
func TestMonthsThatEndAtOnceAreAllCounted(t *testing.T) {
	t.Parallel()
	r := newRoster(t)
	rng := rand.New(rand.NewPCG(7, 0))
	const months = 40
	for n := range months {
		r.add(t, rng, schema.Month{Year: 2026, Month: time.November, Shard: n}, 20)
	}
	p := r.pipeline(t, nil)
	p.Batch = 1
	master := r.begin(t)
	want := int64(0)
	var all sync.WaitGroup
	for month, due := range r.due {
		want += int64(len(due))
		m := jobs.Message{Kind: jobs.Month, Pipeline: "live", Run: master.Run, Month: month}
		for range 2 {
			all.Go(func() {
				if _, err := p.Do(t.Context(), m, jobstest.NoPut{}, saveInto(&jobs.Message{})); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if all := r.months(t); all.Batches != want {
		t.Errorf("the months have %d batches, want %d", all.Batches, want)
	}
}

// TestMonthReadsNoFiguresOfItsRun: each month job would read those that all others have written.
func TestMonthReadsNoFiguresOfItsRun(t *testing.T) {
	t.Parallel()
	r := newRoster(t)
	master := r.begin(t)
	var took []int64
	for n := range 30 {
		month := schema.Month{Year: 2026, Month: time.November, Shard: n}
		r.add(t, rand.New(rand.NewPCG(8, 0)), month, 10)
		read := int64(0)
		counting := faults.Func(func(req *http.Request) (*http.Response, error) {
			resp, err := http.DefaultClient.Do(req)
			if err == nil && strings.Contains(req.URL.Path, r.names.Runs()) {
				read += resp.ContentLength
			}
			return resp, err
		})
		m := jobs.Message{Kind: jobs.Month, Pipeline: "live", Run: master.Run, Month: month}
		p := r.pipeline(t, &faults.Transport{Next: counting})
		must.Have(p.Do(t.Context(), m, jobstest.NoPut{}, saveInto(&jobs.Message{})))(t)
		took = append(took, read)
	}
	if took[5] != took[29] {
		t.Errorf("the sixth month job reads %d bytes of the runs, the thirtieth %d", took[5], took[29])
	}
}

func TestFiguresOfOldRunsAreDeleted(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 1)
	f := w.NewFleet(t)
	runs := w.Connect(t, nil).Table(f.Names.Runs())
	now := tables.TicksOf(time.Now().Truncate(time.Minute))
	var old []tables.Entity
	for hour := range 40 {
		for m := range 12 {
			e := must.Have(schema.MonthFigures{Pipeline: "live", Slot: now.Add(-time.Duration(hour) * time.Hour),
				Month: schema.Month{Year: 2025, Month: time.Month(m + 1)}}.Entity())(t)
			old = append(old, e)
		}
	}
	jobstest.Insert(t, runs, old...)
	p := f.Pipeline(t, nil)
	r, err := p.Do(t.Context(), jobs.Message{Kind: jobs.Master, Pipeline: "live", Run: now}, &jobstest.Line{}, nil)
	if err != nil || r.Months != 1 || len(r.Failed) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	left := map[tables.Ticks]int{}
	marks := 0
	for _, e := range jobstest.Rows(t, runs, tables.Query{}) {
		if !schema.IsMonthFigures(e) {
			marks++
			continue
		}
		_, slot, err := schema.ParseFiguresPartition(e.PartitionKey)
		must.Succeed(t, err)
		left[slot]++
	}
	for hour := range 40 {
		slot := now.Add(-time.Duration(hour) * time.Hour)
		if want := map[bool]int{true: 12}[hour <= 24]; left[slot] != want {
			t.Errorf("%d hours ago: %d rows are left, want %d", hour, left[slot], want)
		}
	}
	if marks == 0 {
		t.Error("what is no figure is gone, too")
	}
}

// TestFiguresOfManyPartitionsAreDeleted: a run of a fleet with more than a thousand partitions adds more rows than a
// page has. Each run deletes as many.
func TestFiguresOfManyPartitionsAreDeleted(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 1)
	f := w.NewFleet(t)
	runs := w.Connect(t, nil).Table(f.Names.Runs())
	now := tables.TicksOf(time.Now().Truncate(time.Minute))
	var old []tables.Entity
	for run := range 2 {
		for n := range 1500 {
			slot := now.Add(time.Duration(run)*time.Minute - 25*time.Hour)
			month := schema.Month{Year: 2025 - n/1200, Month: time.Month(n/100%12 + 1), Shard: n % schema.MaxShards}
			old = append(old, must.Have(schema.MonthFigures{Pipeline: "live", Slot: slot, Month: month}.Entity())(t))
		}
	}
	jobstest.Insert(t, runs, old...)
	p := f.Pipeline(t, nil)
	for run := range 2 {
		slot := now.Add(time.Duration(run) * time.Minute)
		m := jobs.Message{Kind: jobs.Master, Pipeline: "live", Run: slot}
		must.Have(p.Do(t.Context(), m, &jobstest.Line{}, nil))(t)
		left := 0
		for _, e := range jobstest.Rows(t, runs, tables.Query{}) {
			if schema.IsMonthFigures(e) {
				left++
			}
		}
		if most := len(old) - 1500*(run+1); left > most {
			t.Errorf("%d rows of old runs are left after %d runs, want %d at most", left, run+1, most)
		}
	}
}
