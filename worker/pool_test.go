package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
)

type save = jobs.Save

// quiet is a log that discards everything.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// until waits for d on the test's clock.
func until(ctx context.Context, d time.Duration) error {
	sleep(ctx, d)
	return ctx.Err()
}

// lasting is a job that takes d.
func lasting(d time.Duration) func(context.Context, jobs.Message, save) error {
	return func(ctx context.Context, _ jobs.Message, _ save) error { return until(ctx, d) }
}

func nothing(context.Context, jobs.Message, save) error { return nil }

func wantOutcomes(t *testing.T, p *Pool, want map[Outcome]int64) {
	t.Helper()
	for o := range OutcomeReleased + 1 {
		if got := p.Outcomes.Map()[o]; got != want[o] {
			t.Errorf("%d messages were %s, want %d", got, o, want[o])
		}
	}
}

func TestLongJobKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
		var runs atomic.Int32
		work := func(ctx context.Context, _ jobs.Message, _ save) error {
			runs.Add(1)
			return until(ctx, 10*time.Minute+time.Second)
		}
		a, b := &Pool{Source: q, Work: work, Log: quiet()}, &Pool{Source: q, Work: work, Log: quiet()}
		began := time.Now()
		stopA, stopB := start(t, t.Context(), a), start(t, t.Context(), b)
		time.Sleep(11 * time.Minute)
		stopA()
		stopB()
		if runs.Load() != 1 || q.deleted != 1 || len(q.updates) != 60 {
			t.Errorf("the job ran %d times, was deleted %d times and renewed %d times; want 1, 1, 60", runs.Load(), q.deleted,
				len(q.updates))
		}
		for i, at := range q.updates {
			if want := time.Duration(i+1) * 10 * time.Second; at.Sub(began) != want {
				t.Errorf("renewal %d after %v, want %v", i, at.Sub(began), want)
			}
		}
		if done := a.Outcomes.Map()[OutcomeDone] + b.Outcomes.Map()[OutcomeDone]; done != 1 {
			t.Errorf("%d messages are done", done)
		}
	})
}

func TestALostLeaseEndsItsJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
		var cause error
		p := &Pool{Source: q, Log: quiet(), Work: func(ctx context.Context, _ jobs.Message, _ save) error {
			defer func() { cause = context.Cause(ctx) }()
			return until(ctx, time.Hour)
		}}
		stop := start(t, t.Context(), p)
		time.Sleep(time.Second)
		q.steal(time.Hour)
		time.Sleep(9500 * time.Millisecond) // past the renewal at a third
		synctest.Wait()
		if !errors.Is(cause, ErrLeaseLost) {
			t.Errorf("the job's context ended with %v", cause)
		}
		stop()
		wantOutcomes(t, p, map[Outcome]int64{OutcomeLost: 1})
		if m, stored := q.first(t); stored.taken != 2 || m.Attempts != 0 || q.deleted != 0 {
			t.Errorf("the thief's message is %+v, %+v", m, stored)
		}
	})
}

func TestALeaseThatCannotBeRenewedIsLostAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
		q.before = failing("update", errors.New("no route to host"), func() bool { return true })
		var took []time.Duration
		p := &Pool{Source: q, Log: quiet(), Work: func(ctx context.Context, _ jobs.Message, _ save) error {
			start := time.Now()
			defer func() { took = append(took, time.Since(start)) }()
			return until(ctx, time.Hour)
		}}
		runFor(t, p, 31*time.Second)
		if took[0] != DefaultLease || p.Outcomes.Map()[OutcomeLost] != 1 {
			t.Errorf("the job was ended after %v, and %d leases were lost; want %v, 1", took[0], p.Outcomes.Map()[OutcomeLost],
				DefaultLease)
		}
	})
}

func TestARefusedRenewalIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
		updates := 0
		q.before = func(op string) error {
			if op == "update" {
				if updates++; updates == 1 {
					return tables.ErrBusy
				}
			}
			return nil
		}
		p := &Pool{Source: q, Log: quiet(), Work: lasting(time.Minute)}
		runFor(t, p, 61*time.Second)
		wantOutcomes(t, p, map[Outcome]int64{OutcomeDone: 1})
	})
}

func TestStoppingGivesJobsBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, many(40, deviceJob)...)
		p := &Pool{Source: q, Log: quiet(), Work: lasting(time.Hour)}
		stop := start(t, t.Context(), p)
		time.Sleep(time.Minute)
		if p.InFlight() != 32 {
			t.Errorf("%d jobs in flight, want 32", p.InFlight())
		}
		before := time.Now()
		stop()
		if took := time.Since(before); took != 0 {
			t.Errorf("stopping took %v", took)
		}
		wantOutcomes(t, p, map[Outcome]int64{OutcomeReleased: 32})
		got, err := q.Get(t.Context(), 100, time.Minute)
		if err != nil || len(got) != 40 {
			t.Errorf("%d messages are visible, %v; want all 40", len(got), err)
		}
		for _, l := range got {
			if m, err := jobs.Decode(l.Text()); err != nil || m.Attempts != 0 {
				t.Errorf("a message given back is %+v, %v", m, err)
			}
		}
	})
}

func TestMessagesReceivedWhileStoppingAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
		q.after = func(op string) error {
			if op == "get" {
				time.Sleep(2 * time.Second) // the answer is late
			}
			return nil
		}
		p := &Pool{Source: q, Log: quiet(), Work: func(context.Context, jobs.Message, save) error {
			t.Error("a job was begun after the stop")
			return nil
		}}
		runFor(t, p, time.Second)
		if got, _ := q.Get(t.Context(), 1, time.Minute); len(got) != 1 {
			t.Error("the message is not visible")
		}
		wantOutcomes(t, p, map[Outcome]int64{OutcomeReleased: 1})
	})
}

func TestAJobThatReturnsWithinTheGraceIsFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
		p := &Pool{Source: q, Grace: 25 * time.Second, Log: quiet(), Work: func(ctx context.Context, _ jobs.Message,
			_ save) error {
			<-ctx.Done()
			time.Sleep(24 * time.Second) // ends what it had begun
			return nil
		}}
		runFor(t, p, 25*time.Second)
		wantOutcomes(t, p, map[Outcome]int64{OutcomeDone: 1})
		if q.deleted != 1 {
			t.Error("its message is still there")
		}
	})
}

func TestProgressSurvivesFailuresAndResetsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
		var seen []string
		p := &Pool{Source: q, Idle: time.Second, Log: quiet(), Work: func(ctx context.Context, m jobs.Message,
			save save) error {
			seen = append(seen, fmt.Sprintf("%s/%d", m.Progress, m.Attempts))
			switch len(seen) {
			case 3:
				m.Progress = place("d100")
				return cmp.Or(save(ctx, m), errors.New("failed after its progress"))
			case 5:
				return nil
			}
			return cmp.Or(save(ctx, m), errors.New("failed without progress")) // saved the same
		}}
		runFor(t, p, 5*time.Minute)
		if want := []string{"/0", "/1", "/2", "2026-11/t!d100/1", "2026-11/t!d100/2"}; !slices.Equal(seen, want) {
			t.Errorf("the job saw %v, want %v", seen, want)
		}
		wantOutcomes(t, p, map[Outcome]int64{OutcomeFailed: 4, OutcomeDone: 1})
	})
}

func TestSavingRenewsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
		p := &Pool{Source: q, Log: quiet(), Work: func(ctx context.Context, m jobs.Message, save save) error {
			for n := range 100 {
				m.Progress = place(fmt.Sprint("d", n))
				if err := save(ctx, m); err != nil {
					return err
				}
				time.Sleep(5 * time.Second)
			}
			return nil
		}}
		runFor(t, p, 10*time.Minute)
		if len(q.updates) != 100 || q.deleted != 1 {
			t.Errorf("%d updates for 100 saves, %d deleted", len(q.updates), q.deleted)
		}
	})
}

func TestASaveUnderALostLeaseEndsTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
		p := &Pool{Source: q, Log: quiet(), Work: func(ctx context.Context, m jobs.Message, save save) error {
			q.steal(time.Hour)
			m.Progress = place("d1")
			if err := save(ctx, m); !errors.Is(err, ErrLeaseLost) || ctx.Err() == nil {
				t.Errorf("save: %v, and the context: %v", err, ctx.Err())
			}
			return errors.New("whatever the job makes of it")
		}}
		runFor(t, p, time.Second)
		wantOutcomes(t, p, map[Outcome]int64{OutcomeLost: 1})
		if m, _ := q.first(t); m.Progress != (schema.Place{}) {
			t.Errorf("progress was saved over the thief's: %+v", m)
		}
	})
}

// TestOnlyUnfinishedGetsAreDeaths has workers die, stop, fail and make progress.
func TestOnlyUnfinishedGetsAreDeaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
		die := func(times int) {
			t.Helper()
			for range times {
				if got, err := q.Get(t.Context(), 1, DefaultLease); err != nil || len(got) != 1 {
					t.Fatal(got, err)
				}
				time.Sleep(DefaultLease + time.Second)
			}
		}
		seen := 0
		work := func(f func(context.Context, jobs.Message, save) error) {
			t.Helper()
			p := &Pool{Source: q, Log: quiet(), Work: func(ctx context.Context, m jobs.Message, s save) error {
				seen = m.Deaths
				return f(ctx, m, s)
			}}
			runFor(t, p, time.Second)
			time.Sleep(time.Minute) // the pause after a failure
		}
		stopped := lasting(time.Hour)
		failed := func(context.Context, jobs.Message, save) error { return errors.New("failed") }
		want := func(n int) {
			t.Helper()
			if work(stopped); seen != n {
				t.Errorf("the job sees %d deaths, want %d", seen, n)
			}
		}
		want(0)
		work(failed)
		want(0)
		die(3)
		want(3)
		work(failed)
		want(3) // a failure forgives none
		die(1)
		want(4)
		work(func(ctx context.Context, m jobs.Message, save save) error {
			m.Progress = place("d100")
			return cmp.Or(save(ctx, m), until(ctx, time.Hour))
		})
		want(0) // it has got on
		die(2)
		want(2)
		if m, _ := q.first(t); m.Attempts != 0 {
			t.Errorf("deaths are counted as attempts: %+v", m)
		}
	})
}

func TestAMessageThatCrashesItsWorkersIsPoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
		for range 101 {
			q.steal(0)
		}
		p := &Pool{Source: q, Log: quiet(), Work: func(context.Context, jobs.Message, save) error {
			t.Error("it was tried again")
			return nil
		}}
		runFor(t, p, time.Second)
		if len(q.poison) != 1 || !strings.Contains(q.poison[0].Cause, "101 of them crashed") {
			t.Errorf("poison %+v", q.poison)
		}
	})
}

// TestWhatThisProcessPutsIsFoundAtOnce: of a run, no job of this pool's own waits for a pause, nor does what a
// scheduler of this process has put. What a job puts waits for its end, so that one look finds all.
func TestWhatThisProcessPutsIsFoundAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t)
		var mu sync.Mutex
		var ends []time.Time
		looks := func() int {
			q.mu.Lock()
			defer q.mu.Unlock()
			return len(q.gets)
		}
		pool := &Pool{Source: q, Log: quiet(), Work: func(ctx context.Context, m jobs.Message, _ save) error {
			if m.Kind == jobs.Master {
				for range 3 {
					month := m
					month.Kind, month.Month = jobs.Month, schema.Month{Year: 2026, Month: 11}
					if err := q.Put(ctx, month, 0); err != nil {
						return err
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			ends = append(ends, time.Now())
			return nil
		}}
		stop := start(t, t.Context(), pool)
		defer stop()
		time.Sleep(17 * time.Minute) // the pauses have become long
		began, before := time.Now(), looks()
		if err := q.Put(t.Context(), jobs.Message{Kind: jobs.Master, Pipeline: "live", Run: 1}, 0); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if len(ends) != 4 || !ends[3].Equal(began) {
			t.Errorf("jobs ended at %v, and the first was put at %v", ends, began)
		}
		if n := looks() - before; n > 4 { // two found messages, and the last two none
			t.Errorf("%d looks", n)
		}
	})
}
