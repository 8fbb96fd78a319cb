package worker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A counted transport counts requests.
type counted struct{ n atomic.Int64 }

func (c *counted) Do(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return http.DefaultClient.Do(r)
}

// A hand is a worker with figures, and the requests it has sent.
type hand struct {
	figures *Figures
	sent    counted
	stop    func()
}

// hire starts a worker on a fleet.
func hire(t *testing.T, f *jobstest.Fleet, id string) *hand {
	t.Helper()
	h := &hand{figures: &Figures{Worker: id, Every: 20 * time.Millisecond, Log: quiet()}}
	tableClient := must.Have(tables.Connect(tables.Config{Account: f.World.Account, Transport: &h.sent, Retry: soon(),
		OnOperation: h.figures.CountTable}))(t)
	queueClient := must.Have(Connect(Config{Account: f.World.Account, Transport: &h.sent, Retry: soon(),
		OnOperation: h.figures.CountQueue}))(t)
	h.figures.Runs = Runs{Table: tableClient.Table(f.Names.Runs())}
	p, queue := f.Pipeline(t, nil), queueClient.Queue(f.Names, "live")
	p.Client, p.Batch = tableClient, 5
	pool := &Pool{Source: queue, Size: 4, Idle: 100 * time.Millisecond, Log: quiet(), OnResult: h.figures.Ended,
		Work: func(ctx context.Context, m jobs.Message, save save) error {
			_, err := h.figures.Do(ctx, p, m, queue, save)
			return err
		}}
	stopFigures := start(t, t.Context(), h.figures)
	stopPool := start(t, h.figures.Within(t.Context(), "live", 0), pool)
	h.stop = func() { stopPool(); stopFigures() }
	return h
}

// ofNoRun returns how many operations a worker that has stopped counts for no run, because it had no job.
func (h *hand) ofNoRun() (n int64) {
	if t := h.figures.tallies[ofRun{"live", 0}]; t != nil {
		for _, count := range t.figures.Operations {
			n += count
		}
	}
	return n
}

// fixtureOf has the runs and the queue of a fleet.
func fixtureOf(t *testing.T, f *jobstest.Fleet) fixture {
	t.Helper()
	f.NeverRan(t)
	client := must.Have(Connect(Config{Account: f.World.Account}))(t)
	s := fixture{Runs{Table: f.World.Connect(t, nil).Table(f.Names.Runs())}, client.Queue(f.Names, "live")}
	return s.create(t)
}

func TestLogHasALineForEachRun(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorld(t, 12, 40)
	f := w.NewFleet(t)
	s := fixtureOf(t, f)
	var log lockedLog
	h := hire(t, f, "a")
	h.figures.mu.Lock()
	h.figures.Log = slog.New(slog.NewTextHandler(&log, nil))
	h.figures.mu.Unlock()
	must.Have(s.scheduler().Once(t.Context()))(t)
	drained(t, s.queue)
	h.stop()
	got := log.String()
	if strings.Count(got, "\n") != 1 || !strings.Contains(got, `msg="run completed" pipeline=live`) ||
		!strings.Contains(got, " rows=480") {
		t.Errorf("the log is %q", got)
	}
}

// TestDeviceCountsOnceInARun: a message that continues with a device, and a second try, count no other one.
func TestDeviceCountsOnceInARun(t *testing.T) {
	for name, c := range map[string]struct {
		message                  jobs.Message
		devices, audited, folded int64
	}{
		"a batch":                {jobs.Message{Kind: jobs.Device}, 3, 0, 2},
		"the rest of a batch":    {jobs.Message{Kind: jobs.Device, Attempts: 1}, 3, 0, 2},
		"a device far behind":    {jobs.Message{Kind: jobs.Device, Mark: "x"}, 0, 0, 0},
		"a second try":           {jobs.Message{Kind: jobs.Device, Extra: true}, 0, 0, 2},
		"devices of another job": {jobs.Message{Kind: jobs.Device, Extra: true, Claim: "x"}, 3, 0, 2},
		"an audit":               {jobs.Message{Kind: jobs.Audit}, 0, 3, 2},
		"stale days":             {jobs.Message{Kind: jobs.Audit, Mark: "x"}, 0, 0, 0},
	} {
		w := figuresOf(c.message, jobs.Result{Devices: 3, Folded: 2, Rows: 5})
		if w.Devices != c.devices || w.Audited != c.audited || w.Folded != c.folded || w.Rows != 5 {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

// A lockedLog is text that several goroutines write.
type lockedLog struct {
	mu sync.Mutex
	strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(p)
}

func TestFiguresOfARunHaveEveryJobRowAndOperation(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorld(t, 12, 40)
	f := w.NewFleet(t)
	s := fixtureOf(t, f)
	runs, queue := s.runs, s.queue
	slot := must.Have(s.scheduler().Once(t.Context()))(t)
	hands := []*hand{hire(t, f, "a"), hire(t, f, "b")}
	drained(t, queue)
	hands = append(hands, hire(t, f, "c")) // it finds no job, which may happen to b, too
	for hands[2].sent.n.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	sent := int64(0)
	for _, h := range hands {
		h.stop()
		sent += h.sent.n.Load() - h.ofNoRun()
	}
	if n := hands[2].ofNoRun(); n == 0 {
		t.Error("a worker without a job counts what it asked its queue for a run")
	}
	all, now, err := runs.FiguresSince(t.Context(), "live", slot.Run.Slot)
	must.Succeed(t, err)
	got, ok := LastDone(all)
	if !ok || len(all) != 1 || now.IsZero() {
		t.Fatalf("no run is done: %+v", all)
	}
	if got.Run.Started == 0 || got.Planned != 1 {
		t.Errorf("the run is %+v", got)
	}
	if m := got.Months; m.Devices != 12 || m.Batches != 3 || m.Audits != 3 || m.Held+m.Failing+m.Behind != 0 {
		t.Errorf("the months are %+v", m)
	}
	if w := got.Workers; w.Rows != 480 || w.Folded != 12 || w.Devices != 12 || w.Audited != 12 || w.Failed != 0 ||
		w.Months != 1 ||
		w.Again != 0 {
		t.Errorf("the workers have %+v", w)
	}
	want := map[string]int64{"master done": 1, "month done": 1, "device done": 3, "audit done": 3}
	if !maps.Equal(got.Workers.Jobs, want) || got.BatchesDone() != 3 {
		t.Errorf("the jobs are %v", got.Workers.Jobs)
	}
	counted := int64(0)
	for _, n := range got.Workers.Operations {
		counted += n
	}
	if counted != sent {
		t.Errorf("%d operations were sent, and %d counted: %v", sent, counted, got.Workers.Operations)
	}
	if took := got.Took(); took <= 0 || took > time.Minute {
		t.Errorf("the run took %v", took)
	}
	one, err := runs.Figures(t.Context(), "live", slot.Run.Slot)
	if err != nil || fmt.Sprint(one.Workers, one.Months) != fmt.Sprint(got.Workers, got.Months) ||
		one.Run.Slot != slot.Run.Slot {
		t.Errorf("alone it is %+v, %v; among others %+v", one, err, got)
	}
}

// figuresOn returns figures whose requests go through a transport, and the runs.
func figuresOn(t *testing.T, through policy.Transporter) (*Figures, Runs) {
	t.Helper()
	a, n := azuretest.Local(t), names(t)
	s := newFixture(t, a, n, nil).create(t)
	return &Figures{Worker: "w", Every: 10 * time.Millisecond, Log: quiet(), Runs: newFixture(t, a, n, through).runs},
		s.runs
}

func (f *Figures) done(slot tables.Ticks) {
	f.Ended(Result{Outcome: OutcomeDone, Message: jobs.Message{Kind: jobs.Device, Pipeline: "live", Run: slot}})
}

const someSlot = tables.Ticks(639273000000000000)

// A lateWrite holds the first write until it is released. If that was canceled meanwhile, storage gets it after the
// next one.
type lateWrite struct {
	held, release chan struct{}
	once          sync.Once
	late          *http.Request
}

func (l *lateWrite) Do(r *http.Request) (answer *http.Response, err error) {
	if r.Method != http.MethodPut {
		return http.DefaultClient.Do(r)
	}
	l.once.Do(func() {
		close(l.held)
		<-l.release
		if err = r.Context().Err(); err != nil {
			l.late = r.Clone(context.WithoutCancel(r.Context()))
		}
	})
	if err != nil {
		return nil, err
	}
	if answer, err = http.DefaultClient.Do(r); err == nil && l.late != nil {
		var after *http.Response
		if after, err = http.DefaultClient.Do(l.late); err == nil {
			l.late = nil
			err = after.Body.Close()
		}
	}
	return answer, err
}

// TestTheLastWriteOfFiguresIsTheLast: the end does not cancel the write before, which could arrive after it.
func TestTheLastWriteOfFiguresIsTheLast(t *testing.T) {
	t.Parallel()
	through := &lateWrite{held: make(chan struct{}), release: make(chan struct{})}
	f, runs := figuresOn(t, through)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	f.done(someSlot)
	<-through.held
	f.done(someSlot)
	cancel()
	close(through.release)
	must.Succeed(t, <-ended)
	if got := must.Have(runs.Figures(t.Context(), "live", someSlot))(t); got.Workers.Jobs["device done"] != 2 {
		t.Errorf("two jobs are done, and it has %v", got.Workers.Jobs)
	}
}

func TestAFlushWritesChangedFiguresOnce(t *testing.T) {
	t.Parallel()
	through := &counted{}
	f, runs := figuresOn(t, through)
	for range 100 {
		f.done(someSlot)
		f.done(someSlot + 1)
	}
	for range 3 {
		f.flush(t.Context())
	}
	if n := through.n.Load(); n != 2 {
		t.Errorf("%d requests for two runs", n)
	}
	f.done(someSlot)
	f.flush(t.Context())
	if n := through.n.Load(); n != 3 {
		t.Errorf("%d requests after one has changed", n)
	}
	wantDone(t, runs, someSlot, 101)
	wantDone(t, runs, someSlot+1, 100)
	wantDone(t, runs, someSlot+2, 0)
}

func wantDone(t *testing.T, runs Runs, slot tables.Ticks, want int64) {
	t.Helper()
	r, err := runs.Figures(t.Context(), "live", slot)
	if err != nil || r.BatchesDone() != want {
		t.Errorf("%v: %d device jobs, want %d; %v", slot, r.BatchesDone(), want, err)
	}
}

func TestFiguresFollowTheEndOfAJobWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &Figures{}
		var mu sync.Mutex
		var flushed []time.Duration
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		go func() {
			for ctx.Err() == nil {
				f.awaitFlush(ctx)
				mu.Lock()
				flushed = append(flushed, time.Since(began))
				mu.Unlock()
			}
		}()
		// Short runs every second, each known when the next one begins; then a run of six seconds, and nothing.
		late := func() {
			ended := time.Since(began)
			time.Sleep(970 * time.Millisecond)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if last := flushed[len(flushed)-1]; last < ended {
				t.Errorf("what ended after %v is not written a second later: %v", ended, flushed)
			}
		}
		for range 10 {
			f.done(someSlot)
			time.Sleep(30 * time.Millisecond)
			f.done(someSlot)
			late()
		}
		for range 120 {
			f.done(someSlot)
			time.Sleep(50 * time.Millisecond)
		}
		late()
		<-ctx.Done()
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for i := range flushed[:len(flushed)-1] {
			if d := flushed[i+1] - flushed[i]; d < brief && flushed[i+1] < 30*time.Second {
				t.Errorf("two writes within %v", d)
			}
		}
		if len(flushed) > 25 {
			t.Errorf("%d writes: %v", len(flushed), flushed)
		}
	})
}

func TestFiguresAddUpAfterTheyLeftMemory(t *testing.T) {
	t.Parallel()
	f, runs := figuresOn(t, nil)
	for round := range 3 {
		f.done(someSlot)
		for n := range tables.Ticks(talliesKept) {
			f.done(someSlot + 1 + n)
		}
		f.flush(t.Context())
		if len(f.tallies) != talliesKept {
			t.Errorf("round %d: %d runs are in memory", round, len(f.tallies))
		}
		wantDone(t, runs, someSlot, int64(round)+1)
	}
}

func TestUnwrittenFiguresAreBounded(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f, runs := figuresOn(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // every request fails at once
	for n := range tables.Ticks(talliesAtAll + 50) {
		f.done(someSlot + n)
	}
	f.flush(ctx)
	if len(f.tallies) != talliesAtAll {
		t.Errorf("%d runs are in memory", len(f.tallies))
	}
	f.flush(t.Context())
	wantDone(t, runs, someSlot, 0)
	wantDone(t, runs, someSlot+50, 1)
	wantDone(t, runs, someSlot+talliesAtAll, 1)
	if len(f.tallies) != talliesKept {
		t.Errorf("%d runs are in memory afterwards", len(f.tallies))
	}
}

func TestFiguresAreWrittenWhenTheWorkerStops(t *testing.T) {
	t.Parallel()
	f, runs := figuresOn(t, nil)
	f.Every = time.Hour
	stop := start(t, t.Context(), f)
	f.done(someSlot)
	f.CountQueue(f.Within(t.Context(), "live", 0), Operation{Kind: OpGet})
	f.CountQueue(f.Within(t.Context(), "other", 0), Operation{Kind: OpGet})
	f.CountQueue(t.Context(), Operation{Kind: OpGet})
	f.CountObject(f.Within(t.Context(), "live", someSlot), "put object")
	stop()
	r, err := runs.Figures(t.Context(), "live", someSlot)
	want := map[string]int64{"queues get": 1, "objects put object": 1, "tables insert or replace": 1}
	if err != nil || !maps.Equal(r.Workers.Operations, want) {
		t.Errorf("%v, %v; want %v", r.Workers.Operations, err, want)
	}
}

func TestAWorkersIDMustBeAValidKey(t *testing.T) {
	f, _ := figuresOn(t, nil)
	for _, id := range []string{"", "a!b", "a/b"} {
		if err := (&Figures{Worker: id, Runs: f.Runs}).Run(t.Context()); err == nil {
			t.Errorf("%q is taken", id)
		}
	}
}
