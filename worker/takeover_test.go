package worker

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"furrow/jobs"
)

// A victim is a worker that holds messages until it is killed. It renews its leases after each third, and then stops.
func victim(ctx context.Context, t *testing.T, get func(context.Context, int, time.Duration) ([]*Lease, error), n int,
	offset func() time.Duration) {
	for range n {
		got, err := get(ctx, 1, DefaultLease)
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		first := offset()
		go func() {
			for next := first; ; next = DefaultLease / 3 {
				if until(ctx, next) != nil {
					return
				}
				if err := got[0].Renew(ctx, DefaultLease); err != nil {
					t.Error(err)
				}
			}
		}()
	}
}

// TestTakeoverWithinFiveSecondsOfTheLease: the other worker has seen none of the messages before, and is used to empty
// queues.
func TestTakeoverWithinFiveSecondsOfTheLease(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			seed := rand.Uint64()
			random := rand.New(rand.NewPCG(seed, 0))
			ms := func(n int) time.Duration { return time.Duration(random.IntN(n)) * time.Millisecond }
			q := &fakeQueue{}
			const messages = 50
			for n := range messages {
				q.Put(t.Context(), deviceJob(n), 12*time.Hour)
				q.Put(t.Context(), auditJob(n), 12*time.Hour)
			}
			var mu sync.Mutex
			got, last := 0, time.Time{}
			p := &Pool{Source: q, Size: 128, Log: quiet(), Work: func(context.Context, jobs.Message, save) error {
				mu.Lock()
				defer mu.Unlock()
				got, last = got+1, time.Now()
				return nil
			}}
			// The other worker comes first; for a moment, the victim has the queues alone.
			stop := start(t, t.Context(), p)
			defer stop()
			time.Sleep(time.Hour + ms(60_000))
			alive, kill := context.WithCancel(t.Context())
			defer kill()
			for _, q := range []*fakeQueue{q, q.history()} {
				q.mu.Lock()
				for _, m := range q.messages {
					m.visible = time.Time{}
				}
				q.mu.Unlock()
				victim(alive, t, q.Get, messages, func() time.Duration { return ms(10_000) })
			}
			time.Sleep(ms(90_000))
			kill()
			killed := time.Now()
			time.Sleep(DefaultLease + time.Minute)
			synctest.Wait()
			if late := last.Sub(killed) - DefaultLease; got != 2*messages || late > 5*time.Second {
				t.Fatalf("seed %d: %d of %d messages are received, the last %v after the lease", seed, got, 2*messages, late)
			}
		})
	}
}

func TestOnlyMessagesOfOthersKeepAPoolAwake(t *testing.T) {
	for _, c := range []struct {
		name     string
		put      bool // an own job, for hours
		delayed  bool // a message that is not visible for hours
		low, top int
	}{{"nothing", false, false, 250, 330}, {"its own job", true, false, 250, 330},
		{"a delayed message", false, true, 900, 1400}} {
		synctest.Test(t, func(t *testing.T) {
			q := &fakeQueue{}
			var asked atomic.Int64
			q.before = func(op string) error {
				if op == "get" || op == "depth" {
					asked.Add(1)
				}
				return nil
			}
			if c.put {
				q.Put(t.Context(), deviceJob(1), 0)
			}
			if c.delayed {
				q.Put(t.Context(), deviceJob(1), 5*time.Hour)
			}
			stop := start(t, t.Context(), &Pool{Source: q, Size: 2, Log: quiet(), Work: lasting(5 * time.Hour)})
			defer stop()
			time.Sleep(5 * time.Minute)
			asked.Store(0)
			time.Sleep(time.Hour)
			if n := int(asked.Load()); n < c.low || n > c.top {
				t.Errorf("with %s, an idle pool asks the live queue %d times in an hour", c.name, n)
			}
		})
	}
}
