package queue

import (
	"testing"
	"time"

	"furrow/tables/azuretest/must"

	"github.com/cockroachdb/pebble/v2"
)

// walked counts what the store has to walk over for the next get, living keys
// and dead ones, from a place on.
func (f *fixture) walked(u *transaction, from place) (steps int) {
	f.Helper()
	end := place{at: u.now.ns + 1}
	if !from.before(end) {
		return 0
	}
	it := must.Have(u.store.Iter(placeKey(u.id, from), placeKey(u.id, end)))(f)
	it.First()
	stats := it.Stats()
	must.Succeed(f, it.Close())
	return stats.ForwardStepCount[pebble.InternalIterCall]
}

func TestHeadSeekSkipsDeadMessages(t *testing.T) {
	if testing.Short() {
		t.Skip("it counts keys, one get after the other")
	}
	const rounds, batch = 100_000, 25
	f := newFixture(t)
	f.queue("dead")
	h := f.service
	must := func(err error) {
		t.Helper()
		must.Succeed(t, err)
	}
	total, most := 0, 0
	for i := range rounds / batch {
		must(h.inTransaction("dead", func(u *transaction) error {
			for range batch {
				u.add(u.now.ns, never, []byte("x"))
			}
			return nil
		}))
		for range batch / 5 {
			var held []*message
			must(h.inTransaction("dead", func(u *transaction) (err error) {
				n := f.walked(u, u.head)
				total, most = total+n, max(most, n)
				held, _, err = u.deliver(5, u.now.ns+int64(time.Second))
				return err
			}))
			must(h.inTransaction("dead", func(u *transaction) error {
				for _, m := range held {
					u.remove(m)
				}
				return nil
			}))
		}
		if i%100 == 99 {
			f.step(time.Second) // the places of dead leases come into view
		}
	}
	gets := rounds / 5
	t.Logf("%d gets of 5 walked over %d keys, %d at most", gets, total, most)
	if total > 8*rounds {
		t.Errorf("%d gets walked over %d keys: more than a few for each of %d messages", gets, total, rounds)
	}
	must(h.inTransaction("dead", func(u *transaction) error {
		if n := f.walked(u, u.head); n > 10_000 {
			t.Errorf("the next get walks over %d keys of an empty queue", n)
		}
		if n := f.walked(u, place{}); n < 10_000 {
			t.Errorf("from the front a get walks over %d keys only: this test shows nothing", n)
		}
		return nil
	}))
	if n := len(f.records("dead")); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}
