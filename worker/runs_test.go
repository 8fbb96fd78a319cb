package worker

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestRunsDoNotOverlap has batches that take longer than the cadence, and a retry that is always in the queue.
func TestRunsDoNotOverlap(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorld(t, 6, 5)
	f := w.NewFleet(t)
	s := fixtureOf(t, f)
	runs, queue := s.runs, s.queue
	retry := deviceJob(1)
	retry.Extra = true
	must.Succeed(t, queue.Put(t.Context(), retry, time.Hour))

	figures, p := &Figures{Worker: "w", Log: quiet(), Runs: runs}, f.Pipeline(t, nil)
	p.Batch = 2
	var mu sync.Mutex
	underWay, seen := map[tables.Ticks]int{}, map[tables.Ticks]bool{}
	pool := &Pool{Source: queue, Idle: 100 * time.Millisecond, Log: quiet(), OnResult: figures.Ended,
		Work: func(ctx context.Context, m jobs.Message, save save) error {
			if planned(m) {
				mu.Lock()
				underWay[m.Run]++
				if seen[m.Run] = true; len(underWay) > 1 {
					t.Errorf("batches of several runs are under way: %v", underWay)
				}
				mu.Unlock()
				sleep(ctx, 1500*time.Millisecond)
			}
			_, err := figures.Do(ctx, p, m, queue, save)
			mu.Lock()
			defer mu.Unlock()
			if underWay[m.Run]--; underWay[m.Run] <= 0 {
				delete(underWay, m.Run)
			}
			return err
		}}
	scheduler := s.scheduler()
	scheduler.Cadence = time.Second
	stopFigures := start(t, t.Context(), figures)
	stopPool := start(t, t.Context(), pool)
	stopScheduler := start(t, t.Context(), scheduler)
	for range 600 {
		time.Sleep(100 * time.Millisecond)
		mu.Lock()
		n := len(seen)
		mu.Unlock()
		if n == 3 {
			break
		}
	}
	stopScheduler()
	stopPool()
	stopFigures()
	if len(seen) < 3 {
		t.Errorf("%d runs in a minute", len(seen))
	}
}

// A putting job puts messages and nothing else.
type putting []jobs.Message

func (p putting) Do(ctx context.Context, _ jobs.Message, put jobs.Putter, _ save) (r jobs.Result, err error) {
	for _, m := range p {
		delay := time.Duration(0)
		if m.Attempts > 0 {
			delay, m.Attempts = time.Second, 0
		}
		err = cmp.Or(err, put.Put(ctx, m, delay))
		if m.Kind == jobs.Month {
			r.Months++
		}
	}
	return r, err
}

func TestARunIsUnfinishedUntilItsBatchesAndTheirPartsAreDone(t *testing.T) {
	t.Parallel()
	f, runs := figuresOn(t, nil)
	q := &fakeQueue{}
	put := func(by jobs.Message, what ...jobs.Message) {
		t.Helper()
		must.Have(f.Do(t.Context(), putting(what), by, q, nil))(t)
	}
	want := func(n int64, planned bool) {
		t.Helper()
		f.flush(t.Context())
		got, err := runs.Figures(t.Context(), "live", monthJob().Run)
		if left, p := got.Unfinished(); err != nil || left != n || p != planned {
			t.Errorf("%d batches are unfinished, and planned: %v; want %d, %v; %v", left, p, n, planned, err)
		}
	}
	end := func(m jobs.Message, o Outcome) { f.Ended(Result{Outcome: o, Message: m}) }
	// next returns the message that was put last.
	next := func(q *fakeQueue) (m jobs.Message) {
		t.Helper()
		last := q.messages[len(q.messages)-1]
		return must.Have(jobs.Decode(last.text))(t)
	}
	master := monthJob()
	master.Kind, master.Month = jobs.Master, schema.Month{}
	put(master, monthJob())
	want(0, false)
	end(master, OutcomeDone)
	want(0, false)
	put(monthJob(), deviceJob(1), deviceJob(2))
	e, err := schema.MonthFigures{Pipeline: "live", Slot: master.Run, Month: monthJob().Month, Batches: 2}.Entity()
	must.Succeed(t, err)
	must.Have(runs.Table.Do(t.Context(), tables.Insert(e)))(t)
	want(2, true)
	end(deviceJob(1), OutcomePoisoned)
	for _, o := range []Outcome{OutcomeFailed, OutcomeLost, OutcomeReleased} {
		end(deviceJob(2), o)
	}
	want(1, true)

	chain, retry := deviceJob(4), deviceJob(5)
	chain.Mark, retry.Attempts = "a mark", 1
	put(deviceJob(2), deviceJob(3), chain, retry)
	want(2, true) // the second batch, and the part of it
	again := next(q)
	if !again.Extra || again.First != retry.First || next(q.catchup).Extra {
		t.Errorf("the retry is %+v", again)
	}
	end(deviceJob(2), OutcomeDone)
	end(chain, OutcomeDone)
	end(again, OutcomeDone)
	put(again, deviceJob(5)) // a part of what is beside the plan is beside it, too
	put(chain, deviceJob(4))
	want(1, true)
	end(next(q), OutcomeDone)
	end(deviceJob(3), OutcomeDone)
	want(0, true)

	before := must.Have(runs.Figures(t.Context(), "live", master.Run))(t)
	put(again)
	put(chain)
	f.flush(t.Context())
	if after, err := runs.Figures(t.Context(), "live", master.Run); err != nil || after.Took() != before.Took() {
		t.Errorf("the run took %v, and %v with a retry and a chain, %v", before.Took(), after.Took(), err)
	}
}

func TestALongRunIsAmongTheRecentOnes(t *testing.T) {
	t.Parallel()
	f, runs := figuresOn(t, nil)
	now := slotAt(time.Now(), time.Second)
	insert := func(ago time.Duration, run schema.Run) {
		run.Pipeline, run.Slot = "live", now.Add(-ago)
		must.Succeed(t, runs.Take(t.Context(), run))
	}
	done := func(ago time.Duration) {
		insert(ago, schema.Run{Enqueued: now, Started: now})
		m := jobs.Message{Kind: jobs.Master, Pipeline: "live", Run: now.Add(-ago)}
		f.Ended(Result{Outcome: OutcomeDone, Message: m})
	}
	done(500 * time.Second)
	done(400 * time.Second)
	insert(300*time.Second, schema.Run{Enqueued: now, Started: now})
	for ago := 299 * time.Second; ago > 0; ago -= 7 * time.Second {
		insert(ago, schema.Run{Skipped: "it takes long"})
	}
	f.flush(t.Context())
	got, _, err := runs.Recent(t.Context(), "live", time.Second, 30)
	if err != nil || len(got) < 5 || len(got) > 7 {
		t.Fatalf("%d runs, %v", len(got), err)
	}
	if !got[0].Done() || got[0].Run.Slot != now.Add(-400*time.Second) || got[1].Run.Slot != now.Add(-300*time.Second) ||
		got[2].Run.Slot < now.Add(-31*time.Second) {
		t.Errorf("the runs are %+v", got)
	}
	done(0)
	f.flush(t.Context())
	if got, _, err = runs.Recent(t.Context(), "live", time.Second, 30); err != nil || !got[len(got)-1].Done() ||
		got[0].Run.Skipped == "" {
		t.Errorf("with a run that is done, the runs are %+v, %v", got, err)
	}
}

func TestARunIsDoneWhenAllItsBatchesAre(t *testing.T) {
	done := RunFigures{Planned: 2, Months: schema.MonthFigures{Batches: 4},
		Workers: schema.WorkerFigures{Months: 2, Again: 1, First: someSlot, Last: someSlot.Add(time.Second),
			Jobs: map[string]int64{"master done": 1, "month done": 1, "month poisoned": 1, "device done": 4,
				"device poisoned": 1, "device failed": 9}}}
	if !done.Done() || done.Took() != time.Second {
		t.Errorf("it is not done, or took %v", done.Took())
	}
	for _, job := range slices.Collect(maps.Keys(done.Workers.Jobs)) {
		less := done
		less.Workers.Jobs = maps.Clone(done.Workers.Jobs)
		less.Workers.Jobs[job]--
		if less.Done() != strings.Contains(job, "failed") {
			t.Errorf("without one that is %s it is done: %v", job, less.Done())
		}
	}
	if last, ok := LastDone([]RunFigures{done, {}}); !ok || last.Planned != 2 {
		t.Errorf("the last that is done is %+v, %v", last, ok)
	}
}
