package notify_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs/notify"
	"furrow/tables/azuretest/faults"
	"furrow/tables/schema"
)

// TestEveryDeliveryArrivesAndNoneAgainAfterItsSuccessWasRecorded has two workers, which lose answers and are killed,
// deliver to a receiver that fails half of the time and breaks connections. Storage's clock runs meanwhile, so claims
// of dead workers end, and pauses as well.
func TestEveryDeliveryArrivesAndNoneAgainAfterItsSuccessWasRecorded(t *testing.T) {
	first := *seedFrom
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	t.Logf("seeds %d and the %d after it", first, *seeds-1)
	var again atomic.Int32
	t.Cleanup(func() {
		if again.Load() == 0 {
			t.Error("no delivery was tried more than once: nothing is shown")
		}
	})
	for i := range uint64(*seeds) {
		t.Run(fmt.Sprint("seed=", first+i), func(t *testing.T) {
			t.Parallel()
			again.Add(stormyDeliveries(t, first+i))
		})
	}
}

// stormyDeliveries returns how many deliveries were tried more than once.
func stormyDeliveries(t *testing.T, seed uint64) (retried int32) {
	f, rec := newFixture(t), newReceiver(t)
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 1))
	draw := func(n int) int { mu.Lock(); defer mu.Unlock(); return random.IntN(n) }
	kill := func() {}
	attempts := map[string]int{}
	rec.refuse = func(_ *http.Request, e cloudEvent) int {
		records, most := f.records(), 0
		mu.Lock()
		for _, id := range e.deliveries() {
			attempts[id]++
			most = max(most, attempts[id])
			if records[id].Outcome == schema.Delivered {
				t.Errorf("%s comes again after its success was recorded", id)
			}
			if opening := openingOf(id); opening != "" && !slices.Contains(e.deliveries(), opening) &&
				records[opening].Outcome != schema.Delivered {
				t.Errorf("%s comes before its opening", id)
			}
		}
		die := kill
		mu.Unlock()
		if draw(8) == 0 {
			die() // the worker that sends this, or its neighbor
		}
		if most >= 8 {
			return 204 // or it might be given up
		}
		return [...]int{500, 429, 0, 500, 204, 204, 200, 204}[draw(8)]
	}
	target := f.hook(rec.server.URL)
	if seed%2 == 0 {
		target.GroupBy, target.GroupWait = []string{"rule", "labels.pair"}, 20*time.Second
	}
	calm := f.notifier(f.client, target)
	var ids []string
	numbers := map[string]int{}
	for round := 0; ; round++ {
		if round < 6 {
			for i := range 6 {
				device := fmt.Sprint("pump-", i)
				for range draw(3) {
					numbers[device]++
					ids = append(ids, f.happen(calm, "ops", f.transition(device, numbers[device]))...)
				}
			}
		} else if len(f.rows("ops")) == 0 {
			break
		}
		if round > 300 {
			t.Fatalf("%d deliveries still wait: %+v", len(f.rows("ops")), f.state("ops"))
		}
		var working sync.WaitGroup
		for worker := range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			mu.Lock()
			if worker == random.IntN(2) {
				kill = cancel
			}
			mu.Unlock()
			storm := &faults.Transport{Delay: time.Millisecond, Plan: faults.Random{Seed: seed + uint64(2*round+worker)<<20,
				Rates: map[faults.Fault]float64{faults.AnswerLost: .03, faults.Twice: .03, faults.Cut: .02, faults.ServerBusy: .03,
					faults.TimedOut: .02, faults.TimedOutDone: .02, faults.EmptyPage: .1, faults.Late: .02}}}
			n := f.notifier(f.connect(faults.Func(func(r *http.Request) (*http.Response, error) {
				if ctx.Err() != nil { // the dead say nothing more, not even that they end their claim
					return nil, ctx.Err()
				}
				return storm.RoundTrip(r)
			})), target)
			working.Go(func() {
				defer cancel()
				_, _ = n.Deliver(ctx, "ops") // storage fails, and the worker may die
			})
		}
		working.Wait()
		f.advance(time.Duration(1+draw(200)) * time.Second)
		if round > 30 { // by now somebody has claimed the target, so that its state is there
			f.advance(max(0, f.state("ops").Due.Time().Sub(f.now())))
		}
	}
	accepted := rec.ids()
	for _, id := range ids {
		if !slices.Contains(accepted, id) {
			t.Errorf("%s has never arrived", id)
		}
		if attempts[id] > 1 {
			retried++
		}
		if r := f.records()[id]; r.Outcome != schema.Delivered {
			t.Errorf("%s is recorded as %+v", id, r)
		}
	}
	t.Logf("%d deliveries in %d requests, %d tried more than once", len(ids), rec.tried, retried)
	return retried
}

// openingOf returns the delivery of the opening that a delivery closes.
func openingOf(id string) string {
	parts := strings.Split(id, "~")
	n, err := strconv.Atoi(parts[3])
	if err != nil || n%2 == 1 {
		return ""
	}
	parts[3] = strconv.Itoa(n - 1)
	return strings.Join(parts, "~")
}

// TestOneJobAtATimeWorksForATarget starts a second job while the first one is sending.
func TestOneJobAtATimeWorksForATarget(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	target := f.hook(rec.server.URL)
	n := f.notifier(f.client, target)
	f.happen(n, "ops", f.transition("pump-1", 1))
	inside, goOn := make(chan bool), make(chan bool)
	rec.refuse = func(*http.Request, cloudEvent) int {
		inside <- true
		<-goOn
		return 204
	}
	done := make(chan notify.Result)
	go func() { done <- deliver(t, n, "ops") }()
	<-inside
	if r := deliver(t, n, "ops"); r.Sent+r.Failed > 0 || r.Again {
		t.Errorf("a second job has done %+v", r)
	}
	f.happen(n, "ops", f.transition("pump-2", 1)) // meanwhile
	close(goOn)
	if r := <-done; r.Sent != 1 || !r.Again || r.After != 0 {
		t.Errorf("the first job has done %+v; want it to ask for another one", r)
	}
	rec.refuse = nil
	deliver(t, n, "ops")
	if ids := rec.ids(); len(ids) != 2 {
		t.Errorf("arrived: %q", ids)
	}
	if s := f.state("ops"); s.Sent != 2 || s.Waiting != 0 || s.Claim != "" {
		t.Errorf("state %+v", s)
	}
}

// TestStoppedWorkerEndsItsClaim: a restart delays nobody's notification.
func TestStoppedWorkerEndsItsClaim(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	n := f.notifier(f.client, f.hook(rec.server.URL))
	f.happen(n, "ops", f.transition("pump-1", 1))
	ctx, stop := context.WithCancel(t.Context())
	rec.refuse = func(r *http.Request, _ cloudEvent) int {
		stop()
		<-r.Context().Done()
		return 0
	}
	if _, err := n.Deliver(ctx, "ops"); !errors.Is(err, context.Canceled) {
		t.Errorf("the stopped worker says %v", err)
	}
	rec.mu.Lock()
	rec.refuse = nil
	rec.mu.Unlock()
	if s := f.state("ops"); s.Claim != "" || s.Due.Time().After(f.now()) {
		t.Errorf("its claim lasts: %+v", s)
	}
	f.advance(10 * time.Second) // the pause after its attempt
	if r := deliver(t, n, "ops"); r.Sent != 1 {
		t.Errorf("the next worker has done %+v", r)
	}
}
