package queue

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/tables/local/internal/store"

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
	must.Succeed(t, err)
	if *u.PopReceipt == *taken.PopReceipt {
		t.Error("an update gave the old receipt again")
	}
	again := f.get(q, 1, 60)[0]
	if *again.MessageText != "first" || *again.DequeueCount != 2 {
		t.Errorf("%s was delivered %d times, want first and 2", *again.MessageText, *again.DequeueCount)
	}
	_, err = q.DeleteMessage(t.Context(), *taken.MessageID, *taken.PopReceipt, nil)
	f.wantCode(err, queueerror.PopReceiptMismatch)
}

// A clock that is set back, while the service runs or is stopped, neither hides messages
// nor prolongs leases nor changes the order.
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
				t.Errorf("the answer says that a lease of an hour lasts %v", lease)
			}
			f.step(61 * time.Second)
			if got := f.get(q, 1, 60); len(got) != 1 || *got[0].MessageText != "leased" {
				t.Error("a lease of a minute did not end after a minute")
			}
		})
	}
}

func TestClockFollowsASystemClockThatIsSetForward(t *testing.T) {
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

// records returns the stored messages of a queue. It fails the test if records, texts
// and index disagree.
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
				f.Errorf("message %s is before the head", m.id)
			}
		}
		return nil
	})
	must.Succeed(f, err)
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
	q := must.Have(f.service.find(name))(f)
	keys := q.record.ID.Key(prefix)
	for _, err := range f.store.Walk(keys, store.After(keys)) {
		must.Succeed(f, err)
		n++
	}
	return n
}
