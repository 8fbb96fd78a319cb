package notify_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"furrow/jobs/notify"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// happenAtOnce writes the openings of many devices' incidents and a delivery of each for some targets.
func (f *fixture) happenAtOnce(n *notify.Notifier, many int, targets ...schema.Target) {
	f.t.Helper()
	of := map[string][]tables.Op{}
	for i := range many {
		tr := f.transition(fmt.Sprint("pump-", i), 1)
		tr.Site = schema.Site(fmt.Sprint("plant-", i%30))
		of[f.names.Output("incidents")] = append(of[f.names.Output("incidents")], tables.Insert(tr.Entity()))
		for _, target := range targets {
			d := schema.Delivery{Target: target, Transition: tr}
			of[f.names.Deliveries()+" "+string(target)] = append(of[f.names.Deliveries()+" "+string(target)],
				tables.Insert(d.Entity()))
		}
	}
	for name, ops := range of {
		table := f.names.Deliveries()
		if name == f.names.Output("incidents") {
			table = name
		}
		for _, group := range must.Have(tables.Cut(ops))(f.t) {
			must.Have(f.client.Table(table).Submit(f.t.Context(), group))(f.t)
		}
	}
	for _, target := range targets {
		must.Have(n.Wake(f.t.Context(), target))(f.t)
	}
}

// TestManyIncidentsAtOnceAreGroupedWithinGroupWait: 5,000 devices fall silent. One job, after groupWait, sends five
// messages.
func TestManyIncidentsAtOnceAreGroupedWithinGroupWait(t *testing.T) {
	effort.Alone(t)
	f, rec, am := newFixture(t), newReceiver(t), newAlertmanager(t)
	ops := f.hook(rec.server.URL)
	ops.GroupBy, ops.GroupWait = []string{"rule"}, 30*time.Second
	n := f.notifier(f.client, ops, am.target())
	const many = 5000
	f.happenAtOnce(n, many, "ops", "am")
	if r := deliver(t, n, "ops"); r.Sent > 0 || r.After != 30*time.Second {
		t.Errorf("at once: %+v", r)
	}
	f.advance(30 * time.Second)
	for _, target := range []schema.Target{"ops", "am"} {
		if r := deliver(t, n, target); r.Sent != many || r.Failed > 0 {
			t.Errorf("%s: %+v", target, r)
		}
	}
	if len(rec.accepted) != 5 || am.posts != 5 || len(am.alerts) != many {
		t.Errorf("%d messages, %d posts with %d alerts", len(rec.accepted), am.posts, len(am.alerts))
	}
}

// TestMutedIncidentsDelayNoOthers: a tenant has muted more than a job looks at once, and another one shares the target.
func TestMutedIncidentsDelayNoOthers(t *testing.T) {
	effort.Alone(t)
	f, rec := newFixture(t), newReceiver(t)
	n := f.notifier(f.client, f.hook(rec.server.URL))
	m := schema.Mute{ID: "m", Tenant: "contoso", From: tables.TicksOf(start),
		Until: tables.TicksOf(start.Add(time.Hour))}
	must.Have(f.client.Table(f.names.Output("incidents")).Do(t.Context(), tables.Insert(must.Have(m.Entity())(t))))(t)
	f.happenAtOnce(n, 5001, "ops")
	other := f.transition("pump-1", 1)
	other.Home.Tenant = "zeta"
	ids := f.happen(n, "ops", other)
	r := deliver(t, n, "ops")
	if got := rec.ids(); !slices.Equal(got, ids) {
		t.Errorf("arrived: %q; want %q", got, ids)
	}
	if s := f.state("ops"); s.Waiting != 5001 || r.After != 10*time.Minute {
		t.Errorf("%d wait; another job after %v", s.Waiting, r.After)
	}
}

// TestSlowTargetDelaysNoOther: a receiver answers nothing for as long as the others need.
func TestSlowTargetDelaysNoOther(t *testing.T) {
	f, slow, fast := newFixture(t), newReceiver(t), newReceiver(t)
	first, second := f.hook(slow.server.URL), f.hook(fast.server.URL)
	first.Name = "slow"
	n := f.notifier(f.client, first, second)
	reached, answer, done := make(chan bool, 1), make(chan bool), make(chan notify.Result)
	slow.refuse = func(*http.Request, cloudEvent) int {
		reached <- true
		<-answer
		return 204
	}
	f.happenAtOnce(n, 20, "slow", "ops")
	go func() { done <- deliver(t, n, "slow") }()
	<-reached
	if r := deliver(t, n, "ops"); r.Sent != 20 {
		t.Errorf("the other target: %+v", r)
	}
	go func() {
		for range reached { // the messages after the first
		}
	}()
	close(answer)
	if r := <-done; r.Sent != 20 {
		t.Errorf("the slow target: %+v", r)
	}
	close(reached)
}

// TestReceiverGetsNoMoreThanItTakes: it takes 50 messages a minute, and says so by Retry-After. In each minute it has
// to refuse one message at most.
func TestReceiverGetsNoMoreThanItTakes(t *testing.T) {
	effort.Alone(t)
	f, rec := newFixture(t), newReceiver(t)
	taken, refused := map[time.Time]int{}, map[time.Time]int{}
	rec.refuse = func(*http.Request, cloudEvent) int {
		minute := f.now().Truncate(time.Minute)
		if taken[minute] == 50 {
			refused[minute]++
			rec.retryAfter = strconv.Itoa(int(minute.Add(time.Minute).Sub(f.now()) / time.Second))
			return 429
		}
		taken[minute]++
		return 204
	}
	n := f.notifier(f.client, f.hook(rec.server.URL))
	f.happenAtOnce(n, 300, "ops")
	for range 30 {
		r := deliver(t, n, "ops")
		if !r.Again {
			break
		}
		f.advance(max(r.After, time.Second))
	}
	if ids := rec.ids(); len(ids) != 300 || f.now().Sub(start) > 8*time.Minute {
		t.Errorf("%d arrived within %v", len(ids), f.now().Sub(start))
	}
	for minute, times := range refused {
		if times > 1 {
			t.Errorf("%d messages refused in the minute of %v", times, minute)
		}
	}
}

// TestReceiverOfSmallMessagesGetsSmallOnes: a message of a thousand incidents is too large for it, so it gets parts.
func TestReceiverOfSmallMessagesGetsSmallOnes(t *testing.T) {
	effort.Alone(t)
	f, rec := newFixture(t), newReceiver(t)
	rec.refuse = func(_ *http.Request, e cloudEvent) int {
		if len(e.Data.Incidents) > 300 {
			return http.StatusRequestEntityTooLarge
		}
		return 204
	}
	target := f.hook(rec.server.URL)
	target.GroupBy, target.GroupWait = []string{"rule"}, time.Second
	n := f.notifier(f.client, target)
	f.happenAtOnce(n, 1200, "ops")
	f.advance(time.Minute)
	for range 5 {
		deliver(t, n, "ops")
	}
	ids := rec.ids()
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 1200 || len(rec.ids()) != 1200 || rec.tried > 8 {
		t.Errorf("%d of 1200 have arrived in %d messages of %d: %+v", len(ids), len(rec.accepted), rec.tried, f.state("ops"))
	}

	f.happen(n, "ops", f.transition("large-1", 1)) // one alone cannot be made smaller
	rec.refuse = func(*http.Request, cloudEvent) int { return http.StatusRequestEntityTooLarge }
	f.advance(time.Minute)
	deliver(t, n, "ops")
	if s := f.state("ops"); s.Failures != 1 || s.Waiting != 1 {
		t.Errorf("one that is too large alone: %+v", s)
	}
}
