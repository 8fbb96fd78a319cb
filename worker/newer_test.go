package worker

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"furrow/jobs"
)

// TestAMessageForANewerWorkerWaitsForOneAndIsNeverPoison: however many workers are
// too old for it, and however long.
func TestAMessageForANewerWorkerWaitsForOneAndIsNeverPoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{}
		q.Put(t.Context(), monthJob(), 0)
		tries := 0
		old := &Pool{Source: q, Idle: time.Second, Log: quiet(), Work: func(context.Context, jobs.Message, save) error {
			tries++
			return fmt.Errorf("generation 7, and this worker has 6: %w", jobs.ErrNewer)
		}}
		stop := start(t, old)
		time.Sleep(time.Hour)
		stop()
		if tries < 300 || len(q.poison) > 0 {
			t.Errorf("%d tries, %d poison; want many and none", tries, len(q.poison))
		}
		var got jobs.Message
		young := &Pool{Source: q, Idle: time.Second, Log: quiet(), Work: func(_ context.Context, m jobs.Message, save save) error {
			got = m
			m.Progress = "a"
			return save(t.Context(), m)
		}}
		stop = start(t, young)
		time.Sleep(15 * time.Second)
		stop()
		wantOutcomes(t, young, map[Outcome]int64{OutcomeDone: 1})
		if got.Attempts != 0 || got.Deaths != 0 || got.Taken != tries {
			t.Errorf("it came as %+v after %d tries", got, tries)
		}
	})
}

func TestSetIdleHoldsForAPoolThatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{}
		p := &Pool{Source: q, Idle: 30 * time.Second, Log: quiet(), Work: func(context.Context, jobs.Message, save) error { return nil }}
		stop := start(t, p)
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
