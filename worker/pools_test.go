package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/schema"
)

// A ledger counts how often the job of each device has succeeded.
type ledger struct {
	mu   sync.Mutex
	done map[schema.DeviceID]int
}

func (l *ledger) add(id schema.DeviceID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = map[schema.DeviceID]int{}
	}
	l.done[id]++
}

// brisk starts a pool whose pauses are short.
func brisk(t testing.TB, p *Pool) (stop func()) {
	t.Helper()
	p.Log, p.Idle, p.Pause = quiet(), 200*time.Millisecond, 50*time.Millisecond
	return start(t, t.Context(), p)
}

// drained waits until a queue is empty.
func drained(t testing.TB, q *Queue) {
	t.Helper()
	for range 1200 {
		if depth(t, q) == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("%d messages are still in the queue", depth(t, q))
}

// TestNoFaultLosesAMessageOrEndsItUndone injects every fault alone into operations on a message: the first one is its
// renewal or its end, later ones are repeats.
func TestNoFaultLosesAMessageOrEndsItUndone(t *testing.T) {
	t.Parallel()
	a := azuretest.FromEnv(t)
	var all sync.WaitGroup
	for _, fault := range []faults.Fault{faults.AnswerLost, faults.Twice, faults.ServerBusy, faults.TimedOut,
		faults.TimedOutDone, faults.Cut} {
		for _, method := range []string{http.MethodDelete, http.MethodPut} {
			transport := &faults.Transport{Plan: faults.Script{0: fault, 2: fault}, Only: func(r *http.Request) bool {
				return ofMessages(r) && r.Method == method
			}}
			n := names(t)
			q, broken := newQueue(t, a, n, Config{}), connect(t, a, Config{Transport: transport}).Queue(n, "live")
			put(t, q, "d1", "d2", "d3")
			all.Go(func() {
				var l ledger
				var tries atomic.Int32
				stop := brisk(t, &Pool{Source: broken, Lease: time.Second, Work: func(_ context.Context, m jobs.Message,
					_ save) error {
					if tries.Add(1) <= 2 {
						return errors.New("failed")
					}
					l.add(m.First.Device())
					return nil
				}})
				drained(t, q)
				stop()
				if len(l.done) != 3 {
					t.Errorf("%s of a %s: done %v", fault, method, l.done)
				}
				if poison, err := q.PoisonDepth(t.Context()); err != nil || poison != 0 {
					t.Errorf("%s of a %s: %d in the poison queue, %v", fault, method, poison, err)
				}
				if len(transport.Injected()) == 0 {
					t.Errorf("%s of a %s never happened", fault, method)
				}
			})
		}
	}
	all.Wait()
}

func TestTwoPoolsUnderRandomFaultsLoseNothing(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	const messages = 40
	a, n := azuretest.FromEnv(t), names(t)
	q := newQueue(t, a, n, Config{})
	for i := range messages {
		put(t, q, schema.DeviceID(fmt.Sprint("d", i)))
	}
	var l ledger
	var stops []func()
	for i := range uint64(2) {
		transport := &faults.Transport{
			Plan: faults.Random{Seed: seed + i, Rates: map[faults.Fault]float64{
				faults.AnswerLost: 0.04, faults.Twice: 0.04, faults.ServerBusy: 0.04, faults.TimedOut: 0.02,
				faults.TimedOutDone: 0.02, faults.Cut: 0.02, faults.Late: 0.04, faults.Stalled: 0.02,
			}},
			Delay: 500 * time.Millisecond,
		}
		p := &Pool{Source: connect(t, a, Config{Transport: transport}).Queue(n, "live"), Size: 8,
			Lease: time.Second, MaxAttempts: 1000}
		p.Work = func(ctx context.Context, m jobs.Message, save save) error {
			switch rand.IntN(10) {
			case 0:
				return errors.New("failed")
			case 1:
				panic("failed")
			case 2: // past a renewal
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(800 * time.Millisecond):
				}
			case 3:
				if err := save(ctx, m); err != nil {
					return err
				}
			}
			l.add(m.First.Device())
			return nil
		}
		stops = append(stops, brisk(t, p))
	}
	drained(t, q)
	for _, stop := range stops {
		stop()
	}
	// The queues are empty, so a job that has not succeeded is lost.
	if len(l.done) != messages {
		t.Errorf("%d of %d jobs have succeeded", len(l.done), messages)
	}
	if poison, err := q.PoisonDepth(t.Context()); err != nil || poison != 0 {
		t.Errorf("%d in the poison queue, %v", poison, err)
	}
}

// TestAnotherPoolTakesOverFromADeadOneAfterTheLease: a dead pool's requests reach nobody, so it can neither renew nor
// give back.
func TestAnotherPoolTakesOverFromADeadOneAfterTheLease(t *testing.T) {
	t.Parallel()
	a, n := azuretest.FromEnv(t), names(t)
	q := newQueue(t, a, n, Config{})
	put(t, q, "d1", "d2", "d3")
	var dead atomic.Bool
	cut := &faults.Transport{Plan: faults.Random{Rates: map[faults.Fault]float64{faults.ServerBusy: 1}},
		Only: func(*http.Request) bool { return dead.Load() }}
	began := make(chan struct{}, 3)
	stopDead := brisk(t, &Pool{Source: connect(t, a, Config{Transport: cut}).Queue(n, "live"),
		Lease: 2 * time.Second, Grace: 10 * time.Millisecond,
		Work: func(ctx context.Context, _ jobs.Message, _ save) error {
			began <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}})
	for range 3 {
		<-began
	}
	dead.Store(true)
	stopDead()
	since := time.Now()
	var l ledger
	other := &Pool{Source: q, Work: func(_ context.Context, m jobs.Message, _ save) error {
		if m.Attempts != 0 {
			t.Errorf("a death was counted as a failure: %+v", m)
		}
		l.add(m.First.Device())
		return nil
	}}
	stop := brisk(t, other)
	drained(t, q)
	stop()
	if len(l.done) != 3 || other.Outcomes.Map()[OutcomeDone] != 3 || time.Since(since) > 6*time.Second {
		t.Errorf("done %v, %v later", l.done, time.Since(since))
	}
}
