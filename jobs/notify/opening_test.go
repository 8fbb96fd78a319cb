package notify_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/notify"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestNotificationsHaveTheLabelsOfTheirOpening: while an incident is open, its device gets another site, other labels
// and another severity. Every kind of target is told of the closing as of the opening.
func TestNotificationsHaveTheLabelsOfTheirOpening(t *testing.T) {
	f, am, s := newFixture(t), newAlertmanager(t), newMailServer(t)
	var events []map[string]any
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var e struct {
			Data struct {
				Group     map[string]string
				Incidents []map[string]any
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		for _, i := range e.Data.Incidents {
			i["group"] = e.Data.Group
			events = append(events, i)
		}
	}))
	defer hook.Close()
	ops := f.hook(hook.URL)
	ops.GroupBy, ops.GroupWait = []string{"site", "severity", "labels.pair"}, time.Second
	mail := notify.Target{Name: "patient", GroupBy: []string{"rule"}, GroupWait: time.Second,
		Kind: &notify.SMTP{Server: s.at, From: "furrow@example.com", To: []string{"labels.email"},
			PasswordFile: f.secret("hush"), Private: true}}
	n := f.notifier(f.client, ops, am.target(), mail)
	n.Roots = s.trusted
	opened, closed := f.transition("pump-1", 1), f.transition("pump-1", 2)
	closed.Site, closed.Severity = "plant-9", "info"
	closed.Labels = map[string]string{"email": "other@example.com", "new": "x"}
	for _, tr := range []schema.Transition{opened, closed} {
		must.Have(f.client.Table(f.names.Output("incidents")).Do(t.Context(), tables.Insert(tr.Entity())))(t)
		for _, target := range []schema.Target{"ops", "am", "patient"} {
			must.Have(f.client.Table(f.names.Deliveries()).Do(t.Context(),
				tables.Insert(schema.Delivery{Target: target, Transition: tr}.Entity())))(t)
			must.Have(n.Wake(t.Context(), target))(t)
		}
		f.advance(time.Minute)
		for _, target := range []schema.Target{"ops", "am", "patient"} {
			deliver(t, n, target)
		}
	}
	if len(events) != 2 {
		t.Fatalf("events: %v", events)
	}
	for _, of := range []string{"site", "labels", "severity", "group"} {
		if !reflect.DeepEqual(events[0][of], events[1][of]) {
			t.Errorf("%s is %v when it opens and %v when it closes", of, events[0][of], events[1][of])
		}
	}
	if len(am.alerts) != 1 || len(am.firing(f.now())) > 0 {
		t.Errorf("alerts: %+v", am.alerts)
	}
	if len(s.mails) != 2 || !strings.HasPrefix(s.mails[1], "pump-1@example.com\n") {
		t.Errorf("mails: %q", s.mails)
	}
}

// TestLabelNamesThatBecomeOneStayApart: Alertmanager's names allow fewer characters.
func TestLabelNamesThatBecomeOneStayApart(t *testing.T) {
	f, am := newFixture(t), newAlertmanager(t)
	n := f.notifier(f.client, am.target())
	tr := f.transition("pump-1", 1)
	tr.Labels = map[string]string{"floor_2": "a", "floor-2": "b", "floor.2": "c", "name-alone": "d"}
	f.happen(n, "am", tr)
	f.advance(time.Minute)
	deliver(t, n, "am")
	for _, a := range am.alerts {
		got := map[string]string{}
		for name, value := range a.Labels {
			if strings.HasPrefix(name, "label_") {
				got[value] = name
			}
		}
		if want := map[string]string{"a": "label_floor_2", "b": "label_floor_2_13073b", "c": "label_floor_2_168bcc",
			"d": "label_name_alone"}; !reflect.DeepEqual(got, want) {
			t.Errorf("labels %v; want %v", got, want)
		}
	}
	if len(am.alerts) != 1 {
		t.Errorf("%d alerts", len(am.alerts))
	}
}

// TestOpeningThatArrivesLateFires: the Alertmanager was away for longer than an alert lasts.
func TestOpeningThatArrivesLateFires(t *testing.T) {
	f, am := newFixture(t), newAlertmanager(t)
	n := f.notifier(f.client, am.target())
	f.happen(n, "am", f.transition("pump-1", 1))
	f.advance(24 * time.Hour)
	deliver(t, n, "am")
	if len(am.firing(f.now())) != 1 {
		t.Errorf("alerts: %+v", am.alerts)
	}
}

// TestReopeningComesAfterTheClosingBefore: a receiver that resolves a page with the closing would resolve the new one.
func TestReopeningComesAfterTheClosingBefore(t *testing.T) {
	f, rec := newFixture(t), newReceiver(t)
	refused := false
	rec.refuse = func(_ *http.Request, e cloudEvent) int {
		if e.Data.Incidents[0].What == schema.Closed && !refused {
			refused = true
			return 500
		}
		return 204
	}
	n := f.notifier(f.client, f.hook(rec.server.URL))
	var ids []string
	for number := range 4 {
		ids = append(ids, f.happen(n, "ops", f.transition("pump-1", number+1))...)
		deliver(t, n, "ops")
	}
	for range 5 {
		f.advance(time.Minute)
		deliver(t, n, "ops")
	}
	if got := rec.ids(); !slices.Equal(got, ids) || !refused {
		t.Errorf("arrived: %q; want %q", got, ids)
	}
}

// TestAlertOfTheNextIncidentFires: one incident of a rule and a device closes as the next one opens, as a schedule's or
// those of a changed rule do. Their alerts have the same labels, so the closing may not come after the opening.
func TestAlertOfTheNextIncidentFires(t *testing.T) {
	for _, groupBy := range [][]string{nil, {"rule"}} {
		for _, refused := range []int{0, 1} { // how often the closing is
			f, am := newFixture(t), newAlertmanager(t)
			target := am.target()
			if target.GroupBy = groupBy; groupBy == nil {
				target.GroupWait = 0
			}
			n := f.notifier(f.client, target)
			f.happen(n, "am", f.transition("pump-1", 1))
			f.advance(time.Minute)
			deliver(t, n, "am")
			f.advance(time.Minute)
			closed, next := f.transition("pump-1", 2), f.transition("pump-1", 1)
			closed.At = closed.Found
			next.At = next.Found.Add(-30 * time.Second) // a reading since the rule was changed
			next.ID.First = next.At
			am.refuse = refused
			if refused > 0 {
				f.happen(n, "am", closed)
				f.advance(5 * time.Second)
				deliver(t, n, "am")
				f.happen(n, "am", next)
			} else {
				f.happen(n, "am", next, closed)
			}
			f.advance(5 * time.Second)
			deliver(t, n, "am")
			f.advance(5 * time.Second)
			deliver(t, n, "am")
			if len(am.firing(f.now())) != 1 || len(f.rows("am")) != 1 {
				t.Errorf("by %v, refused %d times: alerts %+v, left %+v", groupBy, refused, am.alerts, f.rows("am"))
			}
		}
	}
}
