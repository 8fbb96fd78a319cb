package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"furrow/jobs"
	"furrow/tables"
)

func TestAnIdlePoolLooksLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{}
		var at time.Time
		p := &Pool{Source: q, Log: quiet(), Work: func(context.Context, jobs.Message, save) error {
			at = time.Now()
			return nil
		}}
		stop := start(t, p)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		want := 100 * time.Millisecond
		for i := range len(q.gets) - 1 {
			if got := q.gets[i+1].Sub(q.gets[i]); got < want*8/10 || got > want*12/10 {
				t.Errorf("pause %d is %v, want %v, more or less a fifth", i, got, want)
			}
			want = min(2*want, 30*time.Second)
		}
		if len(q.gets) < 20 {
			t.Errorf("%d looks in ten minutes", len(q.gets))
		}

		put, looks := time.Now(), len(q.gets)
		q.Put(t.Context(), monthJob(), 0)
		time.Sleep(36*time.Second + 300*time.Millisecond)
		synctest.Wait()
		if late := at.Sub(put); late < 0 || late > 36*time.Second {
			t.Errorf("the message was found after %v", late)
		}
		found := at
		for _, look := range q.gets[looks:] {
			if look.Sub(found) > 0 && look.Sub(found) < 150*time.Millisecond {
				stop()
				return
			}
		}
		t.Errorf("the pool did not look again at once after it found work at %v: %v", found, q.gets[looks:])
		stop()
	})
}

func TestAJobsEndIsAReasonToLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{}
		q.Put(t.Context(), monthJob(), 0)
		var at time.Time
		p := &Pool{Source: q, Log: quiet(), Work: func(ctx context.Context, m jobs.Message, _ save) error {
			if m.Kind == jobs.Month { // while the pool gets used to an empty queue
				time.Sleep(5 * time.Minute)
				at = time.Now()
				return q.Put(ctx, deviceJob(1), 0)
			}
			if late := time.Since(at); late > 150*time.Millisecond {
				t.Errorf("what the job has put was got after %v", late)
			}
			return nil
		}}
		stop := start(t, p)
		time.Sleep(6 * time.Minute)
		stop()
		wantOutcomes(t, p, map[Outcome]int64{OutcomeDone: 2})
	})
}

func TestTheNumberInFlightFollowsTheBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{}
		var most, now atomic.Int64
		p := &Pool{Source: q, Size: 48, Idle: time.Second, Log: quiet(), Work: func(ctx context.Context, _ jobs.Message, _ save) error {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			return until(ctx, time.Second)
		}}
		stop := start(t, p)
		for _, backlog := range []int{1, 5, 200} {
			most.Store(0)
			for n := range backlog {
				q.Put(t.Context(), deviceJob(n), 0)
			}
			time.Sleep(time.Minute)
			if want := int64(min(backlog, 48)); most.Load() != want {
				t.Errorf("a backlog of %d has %d in flight, want %d", backlog, most.Load(), want)
			}
		}
		stop()
		wantOutcomes(t, p, map[Outcome]int64{OutcomeDone: 206})
	})
}

func TestTheNumberInFlightHalvesWhenStorageIsBusyAndIsBackInHalfAMinute(t *testing.T) {
	for _, from := range []string{"job", "get", "delete"} {
		synctest.Test(t, func(t *testing.T) {
			q := &fakeQueue{}
			for n := range 2000 {
				q.Put(t.Context(), deviceJob(n%999), 0)
			}
			var busy atomic.Bool
			q.before = func(op string) error {
				if op == from && busy.CompareAndSwap(true, false) {
					return fmt.Errorf("fake: %w", tables.ErrBusy)
				}
				return nil
			}
			p := &Pool{Source: q, Size: 16, Log: quiet(), Work: func(ctx context.Context, _ jobs.Message, _ save) error {
				if from == "job" && busy.CompareAndSwap(true, false) {
					return fmt.Errorf("fake: %w", tables.ErrBusy)
				}
				return until(ctx, time.Second)
			}}
			stop := start(t, p)
			time.Sleep(10*time.Second + 500*time.Millisecond)
			if p.InFlight() != 16 {
				t.Errorf("%s: %d in flight before", from, p.InFlight())
			}
			busy.Store(true)
			time.Sleep(3 * time.Second)
			if n := p.InFlight(); n < 8 || n > 9 {
				t.Errorf("%s: %d in flight after storage was busy, want 8 or 9", from, n)
			}
			time.Sleep(28 * time.Second)
			if p.InFlight() != 16 {
				t.Errorf("%s: %d in flight half a minute later", from, p.InFlight())
			}
			stop()
		})
	}
}

func TestTheCeilingStaysBetweenOneAndFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &ceiling{full: 32}
		var all sync.WaitGroup
		for range 32 {
			all.Go(c.halve) // 32 jobs are refused by one thing
		}
		all.Wait()
		if c.now() != 16 {
			t.Errorf("%d after one spell", c.now())
		}
		for range 60 {
			time.Sleep(spell)
			c.halve()
		}
		if c.now() != 1 {
			t.Errorf("%d after a minute of refusals", c.now())
		}
		last := c.now()
		for range 30 {
			time.Sleep(time.Second)
			if c.now() < last {
				t.Errorf("%d after %d", c.now(), last)
			}
			last = c.now()
		}
		if last != 32 {
			t.Errorf("%d after half a minute", last)
		}
	})
}

func TestABusyStorageIsNoFaultOfTheMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{}
		q.Put(t.Context(), monthJob(), 0)
		began := time.Now()
		p := &Pool{Source: q, Log: quiet(), Work: func(context.Context, jobs.Message, save) error {
			if time.Since(began) < 3*time.Hour {
				return fmt.Errorf("get: %w", tables.ErrBusy)
			}
			return nil
		}}
		stop := start(t, p)
		time.Sleep(4 * time.Hour)
		stop()
		if p.Outcomes.Of(OutcomeDone) != 1 || len(q.poison) != 0 || p.Outcomes.Of(OutcomeFailed) < 10 {
			t.Errorf("%d done, %d failed, %d in the poison queue", p.Outcomes.Of(OutcomeDone), p.Outcomes.Of(OutcomeFailed), len(q.poison))
		}
	})
}

func TestAQueueThatCannotBeReachedIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{}
		q.Put(t.Context(), monthJob(), 0)
		began := time.Now()
		q.before = func(string) error {
			if time.Since(began) < time.Hour {
				return errors.New("no route to host")
			}
			return nil
		}
		p := &Pool{Source: q, Log: quiet(), Work: func(context.Context, jobs.Message, save) error { return nil }}
		stop := start(t, p)
		time.Sleep(time.Hour + time.Minute)
		stop()
		wantOutcomes(t, p, map[Outcome]int64{OutcomeDone: 1})
	})
}
