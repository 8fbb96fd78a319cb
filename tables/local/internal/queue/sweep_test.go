package queue

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wiretest"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fill puts n messages that live for so long.
func fill(t *testing.T, h *Service, name string, n int, life time.Duration) {
	t.Helper()
	err := h.inTransaction(name, func(u *transaction) error {
		for range n {
			u.add(u.now.ns, u.now.ns+int64(life), []byte("x"))
		}
		return nil
	})
	must.Succeed(t, err)
}

func TestSweepRemovesWhatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		s := must.Have(store.Open(vfs.NewMem(), "db", 0, log))(t)
		defer s.Close()
		service := must.Have(New(s, wiretest.Account, []byte(wiretest.Key), time.Now))(t)
		h := service
		for _, name := range []string{"one", "two"} {
			wait, _, err := service.add(name, nil)
			if err != nil || wait() != nil {
				t.Fatal(err)
			}
			fill(t, h, name, 700, time.Minute)
			fill(t, h, name, 5, time.Hour)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); service.Sweep(ctx, log) }()
		count := func(name string) int64 {
			q := service.queues[name]
			q.mu.Lock()
			defer q.mu.Unlock()
			return q.tally.count
		}
		counts := func() [2]int64 { return [2]int64{count("one"), count("two")} }
		time.Sleep(sweepEvery - time.Second)
		synctest.Wait()
		if got := counts(); got != [2]int64{705, 705} {
			t.Errorf("before the first sweep: %v", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := counts(); got != [2]int64{5, 5} {
			t.Errorf("after a sweep: %v, want 5 and 5", got)
		}
		cancel()
		<-done
	})
}

// A sweep that stops at its bound goes on where it stopped, and comes round.
func TestSweepIsBoundedAndGoesOn(t *testing.T) {
	f := newFixture(t)
	f.queue("living")
	f.queue("mixed")
	h := f.service
	fill(t, h, "living", 3*sweepTurn, time.Hour)
	fill(t, h, "mixed", 2*sweepTurn, time.Second)
	f.step(2 * time.Second)
	at := cursor{queue: "living"}
	turns := 0
	for done := false; !done; turns++ {
		before := at
		var read int
		var err error
		if read, done, err = h.sweepQueue(&at); err != nil || read > sweepTurn+1 {
			t.Fatalf("read %d, %v", read, err)
		}
		if !done && at == before {
			t.Fatal("the cursor stands still")
		}
	}
	if turns < 3 {
		t.Errorf("%d turns for %d records", turns, 3*sweepTurn)
	}
	at = cursor{queue: "lily", message: at.message} // a queue that was deleted meanwhile
	if err := h.sweep(t.Context(), &at); err != nil || at != (cursor{}) {
		t.Errorf("%v, %v", at, err)
	}
	if living, mixed := len(f.records("living")), len(f.records("mixed")); living != 3*sweepTurn || mixed != 0 {
		t.Errorf("%d living and %d expired messages, want %d and 0", living, mixed, 3*sweepTurn)
	}
}
