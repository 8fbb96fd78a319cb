package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"furrow/jobs"
)

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
