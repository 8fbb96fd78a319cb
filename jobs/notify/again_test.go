package notify_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/notify"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestTargetThatAnswersAgainWakesWhatWaits: one message was tried often enough to wait for long. The receiver comes
// back and takes a younger one. The first follows at once.
func TestTargetThatAnswersAgainWakesWhatWaits(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	rec.refuse = func(*http.Request, cloudEvent) int { return 503 }
	n := f.notifier(f.client, f.hook(rec.server.URL))
	old := f.happen(n, "ops", f.transition("pump-1", 1))
	f.tryFor(n, 11*time.Minute)
	rec.refuse = nil
	waits := f.state("ops").Next.Time().Sub(f.now())
	if waits < 5*time.Minute {
		t.Fatalf("the first message waits for %v: nothing is shown", waits)
	}
	f.advance(5 * time.Minute) // the longest pause of a target
	young := f.happen(n, "ops", f.transition("pump-2", 1))
	deliver(t, n, "ops")
	r := deliver(t, n, "ops")
	if ids := rec.ids(); !slices.Equal(ids, append(young, old...)) || r.Sent != 1 {
		t.Errorf("%q have arrived; want %q too, and not %v later", ids, old, waits)
	}
}

// tryFor has jobs try what waits for so long, each when the target's state says that there is something to do.
func (f *fixture) tryFor(n *notify.Notifier, span time.Duration) {
	f.t.Helper()
	for end := f.now().Add(span); f.now().Before(end); {
		deliver(f.t, n, "ops")
		f.advance(max(time.Second, min(f.state("ops").Due.Time().Sub(f.now()), end.Sub(f.now()))))
	}
}

// TestMessageThatAlwaysFailsIsNotWokenByOthers: a receiver refuses one message and takes others. That message waits as
// long as it would alone.
func TestMessageThatAlwaysFailsIsNotWokenByOthers(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	refused := 0
	rec.refuse = func(_ *http.Request, e cloudEvent) int {
		if strings.Contains(e.Data.Incidents[0].ID, "pump-0") {
			refused++
			return 400
		}
		return 204
	}
	n := f.notifier(f.client, f.hook(rec.server.URL))
	f.happen(n, "ops", f.transition("pump-0", 1))
	for i := range 40 {
		f.happen(n, "ops", f.transition(fmt.Sprint("pump-", i+1), 1))
		deliver(t, n, "ops")
		f.advance(5 * time.Second)
	}
	if refused > 6 { // after 0, 10, 30, 70 and 150 seconds
		t.Errorf("%d tries within 200 seconds", refused)
	}
}

// TestRedriveTriesAtOnce: what waits for its next try, and a target that pauses, do so no longer.
func TestRedriveTriesAtOnce(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	rec.refuse = func(*http.Request, cloudEvent) int { return 503 }
	n := f.notifier(f.client, f.hook(rec.server.URL))
	ids := f.happen(n, "ops", f.transition("pump-1", 1))
	f.tryFor(n, time.Hour)
	ids = append(ids, f.happen(n, "ops", f.transition("pump-2", 1))...)
	deliver(t, n, "ops")
	rec.refuse = nil
	if s := f.state("ops"); s.Pause.Time().Before(f.now()) || s.Next < s.Pause {
		t.Fatalf("it does not pause: %+v", s)
	}
	must.Have(n.Redrive(t.Context(), "ops"))(t)
	deliver(t, n, "ops")
	if got := rec.ids(); !slices.Equal(got, ids) {
		t.Errorf("%q have arrived; want %q", got, ids)
	}
	if s := f.state("ops"); s.Waiting != 0 || s.Next != 0 {
		t.Errorf("in the end: %+v", s)
	}
}

// TestRedriveDuringAJobIsKept: a job that fails meanwhile does not undo it.
func TestRedriveDuringAJobIsKept(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	n := f.notifier(f.client, f.hook(rec.server.URL))
	ids := f.happen(n, "ops", f.transition("pump-1", 1))
	rec.refuse, rec.retryAfter = func(*http.Request, cloudEvent) int {
		f.advance(time.Second) // the attempt is older than the redrive
		must.Have(n.Redrive(t.Context(), "ops"))(t)
		return 503
	}, "3600"
	deliver(t, n, "ops")
	rec.refuse = nil
	deliver(t, n, "ops")
	if got := rec.ids(); !slices.Equal(got, ids) {
		t.Errorf("%q have arrived: %+v", got, f.state("ops"))
	}
}

// TestNobodyWaitsForADay: after an outage of a day, a message waits for an hour at most.
func TestNobodyWaitsForADay(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	rec.refuse = func(*http.Request, cloudEvent) int { return 503 }
	n := f.notifier(f.client, f.hook(rec.server.URL))
	f.happen(n, "ops", f.transition("pump-1", 1))
	f.tryFor(n, 24*time.Hour)
	if wait := f.state("ops").Next.Time().Sub(f.now()); wait > time.Hour {
		t.Errorf("the next try is in %v", wait)
	}
}

// TestRetryOfAWrongClockCountsForNothing: storage's clock was a year ahead when somebody redrove.
func TestRetryOfAWrongClockCountsForNothing(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	rec.refuse = func(*http.Request, cloudEvent) int { return 503 }
	n := f.notifier(f.client, f.hook(rec.server.URL))
	f.happen(n, "ops", f.transition("pump-1", 1))
	f.advance(365 * 24 * time.Hour)
	must.Have(n.Redrive(t.Context(), "ops"))(t)
	f.advance(-365 * 24 * time.Hour)
	for range 5 {
		deliver(t, n, "ops")
		f.advance(time.Second)
	}
	if rec.tried > 1 {
		t.Errorf("%d tries within 5 seconds", rec.tried)
	}
}

// TestGoneTurnsATargetOff: nothing is sent any more and nothing lost, the other targets are told, and when it is turned
// on again everything arrives.
func TestGoneTurnsATargetOff(t *testing.T) {
	for name, on := range map[string]func(t *testing.T, n *notify.Notifier, other string){
		"by a redrive": func(t *testing.T, n *notify.Notifier, _ string) {
			must.Have(n.Redrive(t.Context(), "ops"))(t)
		},
		"by another url": func(_ *testing.T, n *notify.Notifier, other string) {
			n.Targets[0].Kind.(*notify.Webhook).URL = other
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, rec, oncall := newFixture(t), newReceiver(t), newReceiver(t)
			told := f.hook(oncall.server.URL)
			told.Name = "oncall"
			lost := notify.Target{Name: "patient", Kind: &notify.SMTP{Server: "smtp.example:587", From: "furrow@example.com",
				To: []string{"labels.email"}}}
			n := f.notifier(f.client, f.hook(rec.server.URL), told, lost)
			rec.refuse = func(*http.Request, cloudEvent) int { return http.StatusGone }
			ids := f.happen(n, "ops", f.transition("pump-1", 1), f.transition("pump-1", 2))
			deliver(t, n, "ops")
			r := deliver(t, n, "ops")
			if !slices.Equal(r.Woken, []schema.Target{"oncall"}) {
				t.Errorf("woken: %q", r.Woken)
			}
			f.advance(4 * 24 * time.Hour)
			ids = append(ids, f.happen(n, "ops", f.transition("pump-2", 1))...)
			r = deliver(t, n, "ops")
			if rec.tried != 1 || r.Again || len(r.Woken) > 0 {
				t.Errorf("%d tries; then %+v", rec.tried, r)
			}
			if s := f.state("ops"); s.Waiting != 3 || s.GivenUp != 0 || s.Next != 0 || s.Off == "" {
				t.Errorf("while it is off: %+v", s)
			}
			deliver(t, n, "oncall")
			told1 := oncall.incidents()
			if len(told1) != 1 || !strings.Contains(told1[0], "furrow target-off opened: target ops is turned off") {
				t.Errorf("the other target was told %q", told1)
			}
			if open := f.open("furrow"); len(open) != 1 || open[0].ID.Rule != notify.OffRule || open[0].Severity != "critical" {
				t.Errorf("open incidents of furrow: %+v", open)
			}

			rec.refuse = nil
			on(t, n, rec.server.URL+"/again")
			must.Have(n.Wake(t.Context(), "ops"))(t)
			for range 2 {
				deliver(t, n, "ops")
				deliver(t, n, "oncall")
			}
			if got := rec.ids(); !slices.Equal(got, ids) {
				t.Errorf("arrived: %q; want %q", got, ids)
			}
			if open := f.open("furrow"); len(open) > 0 {
				t.Errorf("open incidents of furrow: %+v", open)
			}
			if told := oncall.incidents(); len(told) != 2 || !strings.Contains(told[1], "target-off closed") {
				t.Errorf("the other target was told %q", told)
			}
			if s := f.state("ops"); s.Off != "" || s.OffAt != 0 || s.Waiting != 0 || s.Error != "" {
				t.Errorf("in the end: %+v", s)
			}
		})
	}
}

// TestTargetThatIsGoneAgainIsAnotherIncident: it was redriven too early.
func TestTargetThatIsGoneAgainIsAnotherIncident(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	n := f.notifier(f.client, f.hook(rec.server.URL))
	rec.refuse = func(*http.Request, cloudEvent) int { return http.StatusGone }
	f.happen(n, "ops", f.transition("pump-1", 1))
	for range 3 {
		deliver(t, n, "ops")
		deliver(t, n, "ops")
		f.advance(time.Minute)
		must.Have(n.Redrive(t.Context(), "ops"))(t)
	}
	if open := f.open("furrow"); rec.tried != 3 || len(open) != 1 {
		t.Errorf("%d tries, open %+v", rec.tried, open)
	}
}

// TestTargetsThatAreGoneTogetherAreTwoIncidents: in the same second, of the same pipeline.
func TestTargetsThatAreGoneTogetherAreTwoIncidents(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	other := f.hook(rec.server.URL)
	other.Name = "other"
	n := f.notifier(f.client, f.hook(rec.server.URL), other)
	rec.refuse = func(*http.Request, cloudEvent) int { return http.StatusGone }
	f.happenAtOnce(n, 1, "ops", "other")
	for _, target := range []schema.Target{"ops", "other", "ops", "other"} {
		deliver(t, n, target)
	}
	if open := f.open("furrow"); len(open) != 2 || open[0].ID.Device != "furrow:live" {
		t.Errorf("open: %+v", open)
	}
}

// open returns the open incidents of a tenant, by their index.
func (f *fixture) open(tenant schema.Tenant) (all []schema.Transition) {
	f.t.Helper()
	index := tables.Query{Range: tables.Partition(schema.OpenIncidents(tenant))}
	for e, err := range f.client.Table(f.names.Output("incidents")).Entities(f.t.Context(), index) {
		must.Succeed(f.t, err)
		all = append(all, must.Have(schema.TransitionOf(e))(f.t))
	}
	return all
}

// incidents returns what was accepted, a text for each transition.
func (r *receiver) incidents() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.accepted {
		for _, i := range e.Data.Incidents {
			all = append(all, fmt.Sprintf("%s %s %s: %s", i.Tenant, i.Rule, i.What, i.Text))
		}
	}
	return all
}

// giveUp has transitions given up for the target ops, which answers again afterwards, and returns their IDs.
func (f *fixture) giveUp(n *notify.Notifier, rec *receiver, all ...schema.Transition) (ids []string) {
	f.t.Helper()
	rec.refuse = func(*http.Request, cloudEvent) int { return 503 }
	ids = f.happen(n, "ops", all...)
	for len(f.rows("ops")) > 0 {
		deliver(f.t, n, "ops")
		f.advance(12 * time.Hour)
	}
	rec.refuse = nil
	return ids
}

// TestRedriveDeliversAnOpeningBeforeItsClosing: of an incident that has opened again often enough for another digit.
func TestRedriveDeliversAnOpeningBeforeItsClosing(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	n := f.notifier(f.client, f.hook(rec.server.URL))
	ids := f.giveUp(n, rec, f.transition("pump-1", 9), f.transition("pump-1", 10))
	if back := must.Have(n.Redrive(t.Context(), "ops"))(t); back != 2 {
		t.Errorf("%d put back", back)
	}
	deliver(t, n, "ops")
	if got := rec.ids(); !slices.Equal(got, ids) {
		t.Errorf("arrived: %q; want %q", got, ids)
	}
}

// TestRedriveOfARenamedPipeline: the pipeline that has the rules now delivers what the one before gave up.
func TestRedriveOfARenamedPipeline(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	n := f.notifier(f.client, f.hook(rec.server.URL))
	ids := f.giveUp(n, rec, f.transition("pump-1", 1))
	n.Pipeline = "renamed"
	if back := must.Have(n.Redrive(t.Context(), "ops"))(t); back != 1 {
		t.Errorf("%d put back", back)
	}
	deliver(t, n, "ops")
	if got := rec.ids(); !slices.Equal(got, ids) {
		t.Errorf("arrived: %q; want %q", got, ids)
	}
}

// TestRedrivePutsBackWhatItCanRead: one row that it cannot read keeps no alarm from anybody.
func TestRedrivePutsBackWhatItCanRead(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	n := f.notifier(f.client, f.hook(rec.server.URL))
	ids := f.giveUp(n, rec, f.transition("pump-1", 1), f.transition("pump-2", 1))
	waiting := f.client.Table(f.names.Deliveries())
	for _, e := range f.all(waiting.Name)[:1] {
		e.Set("Found", tables.String("yesterday"))
		must.Have(waiting.Do(t.Context(), tables.Merge(e, tables.AnyETag)))(t)
	}
	if back, err := n.Redrive(t.Context(), "ops"); back != 1 || err == nil || !strings.Contains(err.Error(), "Found") {
		t.Errorf("%d put back, %v", back, err)
	}
	deliver(t, n, "ops")
	if got := rec.ids(); !slices.Equal(got, ids[1:]) {
		t.Errorf("arrived: %q; want %q", got, ids[1:])
	}
}

// TestMessagesThatAlwaysFailHoldBackNoOthers: a receiver refuses all messages about some devices, so many that one of
// them is due after each pause of the target. What it takes arrives with the pauses, closings too.
func TestMessagesThatAlwaysFailHoldBackNoOthers(t *testing.T) {
	effort.Alone(t)
	f, rec := newFixture(t), newReceiver(t)
	happened, taken, slowest := map[string]time.Time{}, 0, time.Duration(0)
	rec.refuse = func(_ *http.Request, e cloudEvent) int {
		if strings.Contains(e.Data.Incidents[0].ID, "odd-") {
			return 400
		}
		taken, slowest = taken+1, max(slowest, f.now().Sub(happened[e.Data.Incidents[0].Delivery]))
		return 204
	}
	n := f.notifier(f.client, f.hook(rec.server.URL))
	for i := range 30 {
		f.happen(n, "ops", f.transition(fmt.Sprint("odd-", i), 1), f.transition(fmt.Sprint("odd-", i), 2))
	}
	f.tryFor(n, 3*time.Hour)
	for i := range 30 {
		happened[f.happen(n, "ops", f.transition(fmt.Sprint("pump-", i/2), 1+i%2))[0]] = f.now()
		f.tryFor(n, 10*time.Minute)
	}
	if taken != 30 || slowest > 6*time.Minute {
		t.Errorf("%d of 30 messages have arrived, the slowest after %v; want all, after a pause of 5 minutes", taken, slowest)
	}
}
