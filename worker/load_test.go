package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
		stop := start(t, t.Context(), p)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		want := 100 * time.Millisecond
		for i := range len(q.gets) - 1 {
			if got := q.gets[i+1].Sub(q.gets[i]); got < want*8/10 || got > want*12/10 {
				t.Errorf("pause %d is %v, want %v, more or less a fifth", i, got, want)
			}
			want = min(2*want, 25*time.Second)
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

func TestAPoolLooksAgainWhenAJobEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
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
		runFor(t, p, 6*time.Minute)
		wantOutcomes(t, p, map[Outcome]int64{OutcomeDone: 2})
	})
}

func TestTheNumberInFlightFollowsTheBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{}
		var most, now atomic.Int64
		p := &Pool{Source: q, Size: 48, Idle: time.Second, Log: quiet(),
			Work: func(ctx context.Context, _ jobs.Message, _ save) error {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				return until(ctx, time.Second)
			}}
		stop := start(t, t.Context(), p)
		for _, backlog := range []int{1, 5, 200} {
			most.Store(0)
			q.fill(t, many(backlog, deviceJob)...)
			time.Sleep(time.Minute)
			if want := int64(min(backlog, 48)); most.Load() != want {
				t.Errorf("a backlog of %d has %d in flight, want %d", backlog, most.Load(), want)
			}
		}
		stop()
		wantOutcomes(t, p, map[Outcome]int64{OutcomeDone: 206})
	})
}

// A load keeps a pool busy with batches whose jobs do an operation every 50 ms. busy decides which answers say that
// storage is busy.
type load struct {
	q    *fakeQueue
	busy func(m jobs.Message, op int64) bool
	ops  atomic.Int64
}

func (l *load) pool(t *testing.T, batches int) *Pool {
	l.q = &fakeQueue{}
	for n := range batches {
		l.q.Put(t.Context(), deviceJob(n), 0)
	}
	return &Pool{Source: l.q, Idle: time.Second, Log: quiet(), Work: l.work}
}

func (l *load) work(ctx context.Context, m jobs.Message, _ save) error {
	for range 20 {
		for try := 1; l.busy(m, l.ops.Add(1)); try++ {
			Answered(ctx, http.StatusServiceUnavailable)
			if try == 4 {
				return fmt.Errorf("fake: %w", tables.ErrBusy)
			}
			sleep(ctx, time.Second)
		}
		Answered(ctx, http.StatusOK)
		if err := until(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return l.q.Put(ctx, m.Untried(), 0)
}

func TestOneBusyPartitionOfManyDoesNotSlowAPoolDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &load{busy: func(m jobs.Message, _ int64) bool { return m.First == deviceJob(7).First }}
		p := l.pool(t, 50)
		stop := start(t, t.Context(), p)
		defer stop()
		time.Sleep(2 * time.Second)
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			if n := p.limit.now(); n != 32 {
				t.Fatalf("%d jobs may be in flight; one of 50 batches is busy", n)
			}
		}
		if failed := p.Outcomes.Map()[OutcomeFailed]; failed < 3 {
			t.Errorf("it was tried %d times in a minute", failed)
		}
	})
}

func TestTheNumberInFlightFollowsTheShareOfBusyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Bool
		l := &load{busy: func(_ jobs.Message, op int64) bool { return busy.Load() && op%2 == 0 }}
		p := l.pool(t, 50)
		stop := start(t, t.Context(), p)
		defer stop()
		time.Sleep(10*time.Second + 500*time.Millisecond)
		if p.InFlight() != 32 {
			t.Errorf("%d in flight before", p.InFlight())
		}
		busy.Store(true)
		time.Sleep(2100 * time.Millisecond)
		if n := p.limit.now(); n > 16 {
			t.Errorf("%d may be in flight while half of the answers are busy, want 16 or fewer", n)
		}
		time.Sleep(20 * time.Second)
		if n := p.InFlight(); n > 8 {
			t.Errorf("%d are in flight after 20 seconds of it", n)
		}
		busy.Store(false)
		time.Sleep(32 * time.Second)
		if p.InFlight() != 32 {
			t.Errorf("%d in flight half a minute later", p.InFlight())
		}
	})
}

func TestALimitStaysBetweenOneAndFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &limit{full: 32}
		answer := func(good, busy int) {
			for n := range good + busy {
				l.answered(n < busy)
			}
			time.Sleep(span)
		}
		answer(90, 10)
		answer(0, few)
		if l.now() != 32 {
			t.Errorf("%d after a tenth, and a few", l.now())
		}
		answer(89, 11)
		if l.now() != 16 {
			t.Errorf("%d after more than a tenth", l.now())
		}
		for range 60 {
			answer(0, 10)
		}
		if l.now() != 1 {
			t.Errorf("%d after a minute of refusals", l.now())
		}
		last := l.now()
		for range 30 {
			time.Sleep(time.Second)
			if l.now() < last {
				t.Errorf("%d after %d", l.now(), last)
			}
			last = l.now()
		}
		if last != 32 {
			t.Errorf("%d after half a minute", last)
		}
	})
}

func TestAPoolCountsItsOwnBusyAnswers(t *testing.T) {
	for _, from := range []string{"job", "get", "delete"} {
		synctest.Test(t, func(t *testing.T) {
			q := queueOf(t, many(999, deviceJob)...)
			var busy atomic.Bool
			refuse := func(op string) error {
				if op == from && busy.Load() {
					return fmt.Errorf("fake: %w", tables.ErrBusy)
				}
				return nil
			}
			q.before = refuse
			p := &Pool{Source: q, Size: 16, Idle: 100 * time.Millisecond, Log: quiet(),
				Work: func(ctx context.Context, _ jobs.Message, _ save) error {
					if err := refuse("job"); err != nil {
						return err
					}
					return until(ctx, time.Second)
				}}
			stop := start(t, t.Context(), p)
			defer stop()
			time.Sleep(10*time.Second + 500*time.Millisecond)
			busy.Store(true)
			time.Sleep(4 * time.Second)
			if n := p.limit.now(); n > 9 {
				t.Errorf("%s: %d may be in flight", from, n)
			}
		})
	}
}

func TestBusyStorageNeverMakesAMessagePoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
		began := time.Now()
		var attempts []int
		p := &Pool{Source: q, Idle: time.Second, Log: quiet(), Work: func(_ context.Context, m jobs.Message, _ save) error {
			if attempts = append(attempts, m.Attempts); time.Since(began) < 3*time.Hour {
				return fmt.Errorf("get: %w", tables.ErrBusy)
			}
			return errors.New("it is broken, too")
		}}
		stop := start(t, t.Context(), p)
		time.Sleep(3 * time.Hour)
		_, poison := q.seen()
		time.Sleep(time.Hour)
		stop()
		busy := len(attempts) - 5
		if want := 3 * 60 / 6; busy < want || busy > 2*want || len(poison) != 0 {
			t.Errorf("%d tries in three hours, %d in the poison queue", busy, len(poison))
		}
		for i, n := range attempts {
			if n != i {
				t.Fatalf("attempts were %v", attempts)
			}
		}
		if len(q.poison) != 1 || q.poison[0].Attempts != len(attempts) {
			t.Errorf("%d tries, %d of them busy; poison: %+v", len(attempts), busy, q.poison)
		}
	})
}

func TestAPoolSurvivesAnUnreachableQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
		began := time.Now()
		q.before = func(string) error {
			if time.Since(began) < time.Hour {
				return errors.New("no route to host")
			}
			return nil
		}
		p := &Pool{Source: q, Log: quiet(), Work: nothing}
		runFor(t, p, time.Hour+time.Minute)
		wantOutcomes(t, p, map[Outcome]int64{OutcomeDone: 1})
	})
}
