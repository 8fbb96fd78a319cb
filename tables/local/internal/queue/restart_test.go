package queue

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wiretest"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
)

func TestRestartKeepsReceipts(t *testing.T) {
	f := newFixture(t)
	q := f.queue("kept")
	f.put(q, "first")
	f.put(q, "second")
	taken := f.get(q, 1, 60)[0]
	f = f.reopen(0)
	q = f.queue("kept")
	if n := f.count(q); n != 2 {
		t.Errorf("count %d, want 2", n)
	}
	if got := f.get(q, 32, 5); len(got) != 1 || *got[0].MessageText != "second" {
		t.Errorf("got %d messages, want the second alone: the first is leased", len(got))
	}
	u, err := q.UpdateMessage(t.Context(), *taken.MessageID, *taken.PopReceipt, "first",
		&azqueue.UpdateMessageOptions{VisibilityTimeout: ptr[int32](0)})
	if err != nil {
		t.Fatal(err)
	}
	if *u.PopReceipt == *taken.PopReceipt {
		t.Error("an update gave the old receipt again")
	}
	again := f.get(q, 1, 60)[0]
	if *again.MessageText != "first" || *again.DequeueCount != 2 {
		t.Errorf("%s was given out %d times, want first and 2", *again.MessageText, *again.DequeueCount)
	}
	_, err = q.DeleteMessage(t.Context(), *taken.MessageID, *taken.PopReceipt, nil)
	f.wantCode(err, queueerror.PopReceiptMismatch)
}

// A clock that is set back, while the service runs or while it does not, neither
// hides messages nor makes leases last, nor upsets the order.
func TestClockSetBackHidesNothing(t *testing.T) {
	for name, setBack := range map[string]func(*fixture) *fixture{
		"stopped": func(f *fixture) *fixture { return f.reopen(0) },
		"running": func(f *fixture) *fixture { f.step(-24 * time.Hour); return f },
	} {
		t.Run(name, func(t *testing.T) {
			f := openFixture(t, vfs.NewMem(), 24*time.Hour)
			q := f.queue("back")
			f.put(q, "leased")
			f.get(q, 1, 60)
			f.put(q, "before")
			f = setBack(f)
			q = f.queue("back")
			f.put(q, "after")
			got := f.get(q, 2, 3600)
			if len(got) != 2 || *got[0].MessageText != "before" || *got[1].MessageText != "after" {
				t.Fatalf("got %d messages, want before and after", len(got))
			}
			if lease := got[1].TimeNextVisible.Sub(f.now()); lease > time.Hour || lease < time.Hour-10*time.Second {
				t.Errorf("a lease of an hour is told to last %v", lease)
			}
			f.step(61 * time.Second)
			if got := f.get(q, 1, 60); len(got) != 1 || *got[0].MessageText != "leased" {
				t.Error("a lease of a minute did not end after a minute")
			}
		})
	}
}

func TestClockFollowsWhatIsSetForward(t *testing.T) {
	var c clock
	at := time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC)
	now := func() time.Time { return at }
	c.read(now)
	at = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	if got := c.read(now); got.ns != at.UnixNano() || got.ahead != 0 {
		t.Errorf("%v behind, %d ahead", at.Sub(time.Unix(0, got.ns)), got.ahead)
	}
	before := c.read(now)
	at = at.Add(-time.Hour)
	back := c.read(now)
	at = at.Add(time.Minute)
	if got := c.read(now); got.ns-back.ns != int64(time.Minute) || back.ns < before.ns || !got.shown(got.ns).Equal(at) {
		t.Errorf("after it was set back: %v, %v, %v", before, back, got)
	}
	if c.set(int64(time.Hour)); c.ahead != 0 {
		t.Errorf("after it was set right: %d ahead", c.ahead)
	}
}

// What was acknowledged is there after the machine loses power; what was not may
// be there or not, but not by half.
func TestPowerCutKeepsWhatWasAcknowledged(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s, err := store.Open(fs, "db", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	service, err := New(s, wiretest.Account, []byte(wiretest.Key), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	wait, _, err := service.add("cut", nil)
	if err != nil || wait() != nil {
		t.Fatal(err)
	}
	h := service
	ctx, cancel := context.WithCancel(t.Context())
	known := acknowledged{there: map[uuid.UUID]uint64{}, gone: map[uuid.UUID]bool{}, enough: make(chan struct{})}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { known.work(t, ctx, h) })
	}
	<-known.enough
	known.mu.Lock() // no acknowledgement is noted between the copy and the look at what is known
	copied := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(1, 2))})
	there, gone := maps.Clone(known.there), maps.Clone(known.gone)
	known.mu.Unlock()
	cancel()
	group.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f := openFixture(t, copied, 0)
	var all int64
	err = f.service.inTransaction("cut", func(u *transaction) error {
		all = u.tally.count
		for id, receipt := range there {
			m, err := u.held(id, receipt)
			if err != nil {
				t.Errorf("message %s: %v", id, err)
				continue
			}
			if text, err := u.text(m); err != nil || !bytes.Equal(text, id[:]) {
				t.Errorf("message %s: text %x, %v", id, text, err)
			}
		}
		for id := range gone {
			if _, found, _ := u.message(id); found {
				t.Errorf("message %s is back", id)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if records := f.records("cut"); int64(len(records)) != all {
		t.Errorf("%d records, counted as %d", len(records), all)
	}
	t.Logf("%d acknowledged, %d of them deleted again", len(there)+len(gone), len(gone))
}

// acknowledged is what a load was told: the messages that are there, by their
// last receipt, and those that are gone. A message in an operation is in neither.
type acknowledged struct {
	mu     sync.Mutex
	there  map[uuid.UUID]uint64
	gone   map[uuid.UUID]bool
	enough chan struct{} // closed when a few hundred are gone
}

func (a *acknowledged) note(id uuid.UUID, receipt uint64, there, gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.there, id)
	if there {
		a.there[id] = receipt
	}
	if gone {
		a.gone[id] = true
		if len(a.gone) == 300 {
			close(a.enough)
		}
	}
}

// work puts messages, updates them, and deletes every second one.
func (a *acknowledged) work(t *testing.T, ctx context.Context, h *Service) {
	for i := 0; ctx.Err() == nil; i++ {
		var m *message
		step := func(f func(u *transaction) error) {
			if err := h.inTransaction("cut", f); err != nil {
				t.Error(err)
			}
		}
		step(func(u *transaction) error {
			m = u.add(u.now.ns, never, nil)
			u.b.Set(textKey(u.id, m.id), m.id[:])
			return nil
		})
		step(func(u *transaction) error { u.hide(m, u.now.ns); return nil })
		a.note(m.id, m.receipt, true, false)
		if i%2 == 0 {
			a.note(m.id, 0, false, false)
			step(func(u *transaction) error { u.remove(m); return nil })
			a.note(m.id, 0, false, true)
		}
	}
}

// records are the messages that the store has of a queue, and it fails the test
// where records, texts and index differ.
func (f *fixture) records(name string) []*message {
	f.Helper()
	var all []*message
	err := f.service.inTransaction(name, func(u *transaction) error {
		for e, err := range u.store.Walk(u.id.Key(store.PrefixMessage), store.After(u.id.Key(store.PrefixMessage))) {
			if err != nil {
				return err
			}
			m := &message{id: uuid.UUID(e.Key[1+8:])}
			if err := m.decode(e.Value); err != nil {
				return err
			}
			all = append(all, m)
			if value, found, err := u.store.Get(placeKey(u.id, m.place)); !found || !bytes.Equal(value, m.id[:]) {
				f.Errorf("message %s is not in the index: %v", m.id, err)
			}
			if m.place.before(u.head) {
				f.Errorf("message %s stands before the head", m.id)
			}
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	for _, prefix := range []byte{store.PrefixText, store.PrefixVisible} {
		if n := f.keys(name, prefix); n != len(all) {
			f.Errorf("%d keys of kind %c, %d messages", n, prefix, len(all))
		}
	}
	slices.SortFunc(all, func(a, b *message) int { return bytes.Compare(a.id[:], b.id[:]) })
	return all
}

func (f *fixture) keys(name string, prefix byte) (n int) {
	f.Helper()
	q, err := f.service.find(name)
	if err != nil {
		f.Fatal(err)
	}
	keys := q.record.ID.Key(prefix)
	for _, err := range f.store.Walk(keys, store.After(keys)) {
		if err != nil {
			f.Fatal(err)
		}
		n++
	}
	return n
}
