package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"furrow/jobs"
	"furrow/tables"
)

func TestFailuresRepeatAfterGrowingPausesAndThenArePoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
		var at []time.Time
		var attempts []int
		p := &Pool{Source: q, Name: "w1", Idle: 100 * time.Millisecond, Log: quiet(), Work: func(_ context.Context,
			m jobs.Message, _ save) error {
			at, attempts = append(at, time.Now()), append(attempts, m.Attempts)
			return errors.New("the month is broken")
		}}
		runFor(t, p, 10*time.Minute)
		if !slices.Equal(attempts, []int{0, 1, 2, 3, 4}) {
			t.Fatalf("attempts %v", attempts)
		}
		for i, pause := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second} {
			got := at[i+1].Sub(at[i])
			if low, high := pause*8/10, pause*12/10+250*time.Millisecond; got < low || got > high {
				t.Errorf("pause %d is %v, want %v to %v", i, got, low, high)
			}
		}
		wantOutcomes(t, p, map[Outcome]int64{OutcomeFailed: 4, OutcomePoisoned: 1})
		if len(q.poison) != 1 || q.deleted != 1 {
			t.Fatalf("%d in the poison queue, %d deleted", len(q.poison), q.deleted)
		}
		got := q.poison[0]
		if m, err := jobs.Decode(got.Text); err != nil || m.Month != monthJob().Month || got.Cause != "the month is broken" ||
			got.Attempts != 5 || got.Worker != "w1" {
			t.Errorf("poison %+v, %v", got, err)
		}
	})
}

func TestAnUnreadableMessageIsPoisonAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{}
		unreadable := []string{"hello", `{"v":1,"kind":"other"}`, `{"v":1,"kind":"master"}`}
		for _, text := range unreadable {
			q.putText(text)
		}
		q.Put(t.Context(), monthJob(), 0)
		p := &Pool{Source: q, Log: quiet(), Work: func(context.Context, jobs.Message, save) error {
			return fmt.Errorf("pipeline live is not configured here: %w", jobs.ErrUnreadable)
		}}
		runFor(t, p, time.Second)
		wantOutcomes(t, p, map[Outcome]int64{OutcomePoisoned: 4})
		for _, text := range unreadable {
			if !slices.ContainsFunc(q.poison, func(p Poisoned) bool {
				return p.Text == text && p.Cause != "" &&
					p.Attempts == 0
			}) {
				t.Errorf("%s is not in the poison queue: %+v", text, q.poison)
			}
		}
		if q.deleted != 4 {
			t.Errorf("%d messages are deleted", q.deleted)
		}
	})
}

func TestPoisonIsKeptUntilItCanBeMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{}
		q.putText("hello")
		var down atomic.Bool
		down.Store(true)
		q.before = failing("poison", tables.ErrBusy, func() bool { return down.Load() })
		p := &Pool{Source: q, Idle: time.Second, Log: quiet(), Work: nothing}
		stop := start(t, t.Context(), p)
		time.Sleep(8 * time.Second)
		synctest.Wait()
		if q.deleted != 0 {
			t.Error("the message is lost")
		}
		down.Store(false)
		time.Sleep(time.Minute)
		stop()
		if len(q.poison) != 1 || q.deleted != 1 || p.Outcomes.Map()[OutcomePoisoned] != 1 {
			t.Errorf("%d in the poison queue, %d deleted", len(q.poison), q.deleted)
		}
	})
}

func TestAPanicFailsTheJobAndLogsItsStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
		var log bytes.Buffer
		p := &Pool{Source: q, MaxAttempts: 1, Log: slog.New(slog.NewTextHandler(&log, nil)), Work: func(context.Context,
			jobs.Message, save) error {
			panic("as asked")
		}}
		runFor(t, p, time.Second)
		if len(q.poison) != 1 || q.poison[0].Cause != "the job panicked: as asked" {
			t.Errorf("poison %+v", q.poison)
		}
		if text := log.String(); !strings.Contains(text, "TestAPanicFailsTheJobAndLogsItsStack") {
			t.Errorf("the stack is not in the log: %s", text)
		}
	})
}

// TestAMessageForANewerWorkerWaitsForOneAndIsNeverPoison, however many workers are too old for it, and however long.
func TestAMessageForANewerWorkerWaitsForOneAndIsNeverPoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueOf(t, monthJob())
		tries := 0
		old := &Pool{Source: q, Idle: time.Second, Log: quiet(), Work: func(context.Context, jobs.Message, save) error {
			tries++
			return fmt.Errorf("generation 7, and this worker has 6: %w", jobs.ErrNewer)
		}}
		runFor(t, old, time.Hour)
		if tries < 300 || len(q.poison) > 0 {
			t.Errorf("%d tries, %d poison; want many and none", tries, len(q.poison))
		}
		var got jobs.Message
		young := &Pool{Source: q, Idle: time.Second, Log: quiet(), Work: func(_ context.Context, m jobs.Message,
			save save) error {
			got = m
			m.Progress = place("a")
			return save(t.Context(), m)
		}}
		runFor(t, young, 15*time.Second)
		wantOutcomes(t, young, map[Outcome]int64{OutcomeDone: 1})
		if got.Attempts != 0 || got.Deaths != 0 || got.Taken != tries {
			t.Errorf("it came as %+v after %d tries", got, tries)
		}
	})
}

// TestAMessageOfANewerFormatWaitsUncounted: a newer worker finds no attempts and no deaths in it, and everything that
// the older ones could not read.
func TestAMessageOfANewerFormatWaitsUncounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{}
		q.putText(`{"v":9,"kind":"month","of":["another","kind"],"taken":0}`)
		p := &Pool{Source: q, Idle: time.Second, Log: quiet(), Work: func(context.Context, jobs.Message, save) error {
			t.Error("somebody works on it")
			return nil
		}}
		runFor(t, p, time.Hour)
		if len(q.poison) > 0 || q.deleted > 0 {
			t.Fatalf("poison %v, %d deleted", q.poison, q.deleted)
		}
		leases, err := q.Get(t.Context(), 1, time.Minute)
		if err != nil || len(leases) == 0 {
			time.Sleep(10 * time.Minute)
			leases, err = q.Get(t.Context(), 1, time.Minute)
		}
		if err != nil || len(leases) != 1 {
			t.Fatal(leases, err)
		}
		m, err := jobs.Decode(leases[0].Text())
		if !errors.Is(err, jobs.ErrNewer) || m.Taken != leases[0].Taken-1 || m.Taken < 300 ||
			!strings.Contains(leases[0].Text(), `"of":["another","kind"]`) {
			t.Errorf("after %d gets it is %s", leases[0].Taken, leases[0].Text())
		}
	})
}

func TestSetIdleChangesARunningPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{}
		p := &Pool{Source: q, Idle: 30 * time.Second, Log: quiet(), Work: nothing}
		stop := start(t, t.Context(), p)
		defer stop()
		time.Sleep(10 * time.Minute)
		p.SetIdle(time.Second)
		time.Sleep(time.Minute) // the pause that has begun
		before, _ := q.seen()
		time.Sleep(time.Minute)
		if n, _ := q.seen(); n-before < 45 {
			t.Errorf("%d looks in a minute, want one a second or so", n-before)
		}
	})
}
