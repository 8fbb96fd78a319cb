package notify_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestMutedIncidentsAreNotDelivered(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	n := f.notifier(f.client, f.hook(rec.server.URL))
	m := schema.Mute{ID: "m", Device: "pump-*", From: tables.TicksOf(start),
		Until: tables.TicksOf(start.Add(time.Hour))}
	must.Have(f.client.Table(f.names.Output("incidents")).Do(t.Context(), tables.Insert(must.Have(m.Entity())(t))))(t)
	gone := f.happen(n, "ops", f.transition("pump-1", 1))
	kept := f.happen(n, "ops", f.transition("pump-2", 1))
	deliver(t, n, "ops")
	gone = append(gone, f.happen(n, "ops", f.transition("pump-1", 2))...)
	f.advance(30 * time.Minute)
	deliver(t, n, "ops")
	if ids := rec.ids(); len(ids) > 0 {
		t.Errorf("while they are muted: %q", ids)
	}
	f.advance(time.Hour)
	deliver(t, n, "ops")
	if ids := rec.ids(); !slices.Equal(ids, kept) {
		t.Errorf("after the mute: %q; want %q", ids, kept)
	}
	for _, id := range gone {
		if r := f.records()[id]; r.Outcome != schema.WasMuted {
			t.Errorf("%s is %+v", id, r)
		}
	}
}

// TestWhatIsMutedIsNotLate: an alert about targets that are not told for long would be about what nobody is to be told.
func TestWhatIsMutedIsNotLate(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	rec.refuse = func(*http.Request, cloudEvent) int { return 503 }
	n := f.notifier(f.client, f.hook(rec.server.URL))
	m := schema.Mute{ID: "m", Device: "pump-*", From: tables.TicksOf(start),
		Until: tables.TicksOf(start.Add(8 * time.Hour))}
	must.Have(f.client.Table(f.names.Output("incidents")).Do(t.Context(), tables.Insert(must.Have(m.Entity())(t))))(t)
	f.happen(n, "ops", f.transition("pump-1", 1))
	f.advance(time.Hour)
	deliver(t, n, "ops")
	if s := f.state("ops"); s.Waiting != 1 || s.Oldest != 0 {
		t.Errorf("%d wait, the oldest since %v, although it is muted", s.Waiting, s.Oldest.Time())
	}
	since := tables.TicksOf(f.now())
	f.happen(n, "ops", f.transition("oven-2", 1))
	f.advance(time.Hour)
	deliver(t, n, "ops")
	if s := f.state("ops"); s.Waiting != 2 || s.Oldest != since {
		t.Errorf("%d wait, the oldest since %v; one waits since %v", s.Waiting, s.Oldest.Time(), since.Time())
	}
	f.advance(8 * time.Hour)
	deliver(t, n, "ops")
	if s := f.state("ops"); s.Waiting != 2 || s.Oldest != tables.TicksOf(start) {
		t.Errorf("after the mute %d wait, the oldest since %v", s.Waiting, s.Oldest.Time())
	}
}

// TestWhatWaitsForItsGroupIsNotLate: a group may wait for an hour, and the alert of late notifications comes sooner.
func TestWhatWaitsForItsGroupIsNotLate(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	rec.refuse = func(*http.Request, cloudEvent) int { return 503 }
	target := f.hook(rec.server.URL)
	target.GroupBy, target.GroupWait = []string{"rule"}, time.Hour
	n := f.notifier(f.client, target)
	f.happen(n, "ops", f.transition("pump-1", 1))
	due := tables.TicksOf(f.now()).Add(time.Hour)
	for _, wait := range []time.Duration{30 * time.Minute, time.Hour} {
		f.advance(wait)
		deliver(t, n, "ops")
		if s := f.state("ops"); s.Waiting != 1 || s.Oldest != due {
			t.Errorf("%d wait, the oldest since %v; its group waits until %v", s.Waiting, s.Oldest.Time(), due.Time())
		}
	}
}

// TestWhatWaitsOfManyTenantsTakesNoRequestForEach: a job needs to know which delivery is the oldest that is not muted.
// One that looked for mutes of thousands of tenants would have no time left to send anything.
func TestWhatWaitsOfManyTenantsTakesNoRequestForEach(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	var lookups atomic.Int64
	target := f.hook(rec.server.URL)
	target.GroupWait, target.GroupBy = time.Hour, []string{"rule"}
	n := f.notifier(f.connect(faults.Func(func(r *http.Request) (*http.Response, error) {
		if text, _ := url.QueryUnescape(r.URL.RawQuery); strings.Contains(text, "!mutes'") {
			lookups.Add(1)
		}
		return http.DefaultTransport.RoundTrip(r)
	})), target)
	const tenants = 20
	for i := range tenants {
		tr := f.transition("pump-1", 1)
		tr.Home.Tenant = schema.Tenant(fmt.Sprint("tenant-", i))
		f.happen(n, "ops", tr)
	}
	f.advance(time.Minute)
	deliver(t, n, "ops")
	due := tables.TicksOf(start.Add(target.GroupWait))
	if s, got := f.state("ops"), lookups.Load(); s.Waiting != tenants || s.Oldest != due || got != 2 {
		t.Errorf("%d wait, the oldest since %v; it took %d lookups of mutes, want those of one tenant and of everybody",
			s.Waiting, s.Oldest.Time(), got)
	}
}

// TestClosingReachesThoseWhoKnowTheOpeningWhateverIsMuted: an incident that closes under a mute opens and closes again
// before the mute ends.
func TestClosingReachesThoseWhoKnowTheOpeningWhateverIsMuted(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	n := f.notifier(f.client, f.hook(rec.server.URL))
	told := f.happen(n, "ops", f.transition("pump-1", 1))
	deliver(t, n, "ops")
	m := schema.Mute{ID: "m", Device: "pump-*", From: tables.TicksOf(start),
		Until: tables.TicksOf(start.Add(time.Hour))}
	must.Have(f.client.Table(f.names.Output("incidents")).Do(t.Context(), tables.Insert(must.Have(m.Entity())(t))))(t)
	told = append(told, f.happen(n, "ops", f.transition("pump-1", 2))...)
	quiet := f.happen(n, "ops", f.transition("pump-1", 3))
	deliver(t, n, "ops")
	quiet = append(quiet, f.happen(n, "ops", f.transition("pump-1", 4))...)
	deliver(t, n, "ops")
	f.advance(2 * time.Hour)
	deliver(t, n, "ops")
	deliver(t, n, "ops")
	if ids := rec.ids(); !slices.Equal(ids, told) {
		t.Errorf("%q; want %q", ids, told)
	}
	for _, id := range quiet {
		if r := f.records()[id]; r.Outcome != schema.WasMuted {
			t.Errorf("%s is %+v", id, r)
		}
	}
}

// TestPartOfAMessageIsAnotherMessage: a receiver that knows the ID of a message ignores whatever comes with it.
func TestPartOfAMessageIsAnotherMessage(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	rec.refuse = func(*http.Request, cloudEvent) int { return 503 }
	target := f.hook(rec.server.URL)
	target.GroupBy, target.GroupWait = []string{"rule"}, time.Second
	n := f.notifier(f.client, target)
	ids := f.happen(n, "ops", f.transition("pump-1", 1), f.transition("pump-2", 1))
	f.advance(time.Second)
	deliver(t, n, "ops")
	m := schema.Mute{ID: "m", Device: "pump-1", From: tables.TicksOf(start),
		Until: tables.TicksOf(start.Add(time.Hour))}
	must.Have(f.client.Table(f.names.Output("incidents")).Do(t.Context(), tables.Insert(must.Have(m.Entity())(t))))(t)
	rec.refuse = nil
	for range 2 {
		f.advance(40 * time.Minute)
		deliver(t, n, "ops")
	}
	if got := rec.ids(); !slices.Equal(got, []string{ids[1], ids[0]}) && !slices.Equal(got, ids) {
		t.Errorf("arrived: %q", got)
	}
	known := map[string]bool{}
	for _, e := range rec.accepted {
		if known[e.ID] {
			t.Errorf("%q came as %s, which was another message", e.deliveries(), e.ID)
		}
		known[e.ID] = true
	}
}
