package worker

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"furrow/jobs"
)

// inFlight counts jobs under way, live and catch-up.
type inFlight struct{ live, catchup, liveDone, catchupDone atomic.Int64 }

// work is a job that takes as long as its kind requires.
func (f *inFlight) work(live, catchup time.Duration) func(context.Context, jobs.Message, save) error {
	return func(ctx context.Context, m jobs.Message, _ save) error {
		now, done, d := &f.live, &f.liveDone, live
		if m.CatchUp() {
			now, done, d = &f.catchup, &f.catchupDone, catchup
		}
		now.Add(1)
		defer now.Add(-1)
		defer done.Add(1)
		return until(ctx, d)
	}
}

func TestHistoryNeverDelaysLiveWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, f := queueOf(t, many(999, auditJob)...), &inFlight{}
		p := &Pool{Source: q, Size: 8, Idle: time.Second, Log: quiet(), Work: f.work(time.Second, 5*time.Second)}
		stop := start(t, t.Context(), p)
		defer stop()
		time.Sleep(22 * time.Second)
		if f.catchup.Load() != 4 || p.InFlight() != 4 {
			t.Errorf("%d catch-up jobs in flight, want half of 8", f.catchup.Load())
		}
		q.fill(t, many(4, deviceJob)...)
		time.Sleep(2300 * time.Millisecond) // a look, and the job
		if f.liveDone.Load() != 4 {
			t.Errorf("%d of 4 live jobs are done beside a full catch-up queue", f.liveDone.Load())
		}
		q.fill(t, many(80, deviceJob)...)
		time.Sleep(6500 * time.Millisecond) // in the midst of jobs
		if f.live.Load() != 8 || f.catchup.Load() != 0 {
			t.Errorf("with a live backlog, %d live and %d catch-up jobs in flight; want 8 and 0", f.live.Load(),
				f.catchup.Load())
		}
		time.Sleep(10 * time.Second)
		if f.liveDone.Load() != 84 || f.catchup.Load() != 4 {
			t.Errorf("%d live jobs are done, and %d catch-up jobs in flight", f.liveDone.Load(), f.catchup.Load())
		}
	})
}

func TestLiveWorkNeverStopsHistory(t *testing.T) {
	for _, size := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			q, f := queueOf(t, many(999, auditJob)...), &inFlight{}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
			defer cancel()
			work := f.work(time.Second, time.Minute)
			p := &Pool{Source: q, Size: size, Idle: time.Second, Log: quiet()}
			p.Work = func(ctx context.Context, m jobs.Message, s save) error {
				if !m.CatchUp() {
					q.Put(ctx, m, 0) // there is always more
				}
				return work(ctx, m, s)
			}
			q.fill(t, many(3*size, deviceJob)...)
			p.Run(ctx)
			// A lease without, then a minute with one.
			if n := f.catchupDone.Load(); n < 11 || n > 15 {
				t.Errorf("size %d: %d catch-up jobs in 20 minutes under a live backlog", size, n)
			}
			if n := f.liveDone.Load(); n < int64(size*20*60/3-60) {
				t.Errorf("size %d: %d live jobs in 20 minutes", size, n)
			}
		})
	}
}

func TestOnePlaceServesLiveWorkBetweenCatchUpJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, f := queueOf(t, many(999, auditJob)...), &inFlight{}
		stop := start(t, t.Context(), &Pool{Source: q, Size: 1, Idle: time.Second, Log: quiet(),
			Work: f.work(time.Second, 40*time.Second)})
		defer stop()
		time.Sleep(2 * time.Second)
		q.fill(t, many(20, deviceJob)...)
		time.Sleep(62 * time.Second) // the one that is under way, and all of ours
		if f.liveDone.Load() != 20 || f.catchupDone.Load() != 1 {
			t.Errorf("%d live and %d catch-up jobs are done", f.liveDone.Load(), f.catchupDone.Load())
		}
		time.Sleep(40 * time.Second)
		if f.catchupDone.Load() != 2 {
			t.Error("catch-up does not go on")
		}
	})
}

func TestTheCatchUpQueueIsPolledAThirdAsOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{}
		var at time.Time
		p := &Pool{Source: q, Idle: 10 * time.Second, Log: quiet(), Work: func(context.Context, jobs.Message, save) error {
			at = time.Now()
			return nil
		}}
		stop := start(t, t.Context(), p)
		defer stop()
		time.Sleep(time.Hour)
		synctest.Wait()
		if live, catchup := len(q.gets), len(q.catchup.gets); catchup > live/2 || catchup < live/4 {
			t.Errorf("%d looks at the live queue and %d at the catch-up queue in an hour", live, catchup)
		}
		put := time.Now()
		q.Put(t.Context(), auditJob(1), 0)
		time.Sleep(time.Second)
		synctest.Wait()
		if at.IsZero() || at.Sub(put) > 200*time.Millisecond {
			t.Errorf("what this process has put is got after %v", at.Sub(put))
		}
	})
}
