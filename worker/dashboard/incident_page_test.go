package dashboard

import (
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model"
)

// TestDeviceShowsItsWorstIncident in its heading, and not that it is ok.
func TestDeviceShowsItsWorstIncident(t *testing.T) {
	a := newAlarmed(t)
	token := a.add(t, "olga", schema.Operator, "")
	heading := func(device string) string {
		_, rest, _ := strings.Cut(a.as(token, "/devices/"+device).Body.String(), `id="chips">`)
		heading, _, _ := strings.Cut(rest, "</div>")
		return heading
	}
	if got := heading("d0000"); !strings.Contains(got, ">critical</span>") || strings.Contains(got, ">ok</span>") ||
		!strings.Contains(got, `href="/incidents?device=d0000"`) {
		t.Errorf("with a critical incident: %s", got)
	}
	if got := heading("d0003"); !strings.Contains(got, ">ok</span>") {
		t.Errorf("without incidents: %s", got)
	}
}

// TestIncidentShowsItsValueAndWhoWasTold on its page, and how to acknowledge it.
func TestIncidentShowsItsValueAndWhoWasTold(t *testing.T) {
	a := newAlarmed(t)
	told := schema.DeliveryRecord{Delivery: schema.Delivery{Target: "ops", Transition: a.hot, Attempts: 3,
		Error: "hooks.example: no route"}, Outcome: schema.Delivered, At: tables.TicksOf(time.Now())}
	a.Write(t, a.Names.Output("incidents"), told.Entity())
	operator, viewer := a.add(t, "olga", schema.Operator, ""), a.add(t, "vera", schema.Viewer, "contoso")
	page := a.as(operator, "/incidents/"+a.hot.ID.String()).Body.String()
	for _, part := range []string{`class="limit"`, "The limit is 30\u202f°C", `class="incident critical"`, ">ops</td>",
		"3\u00a0attempts", "temperature above 30", "Now "} {
		if !strings.Contains(page, part) {
			t.Errorf("the page has no %q: %s", part, page)
		}
	}
	if strings.Contains(page, "To acknowledge it") {
		t.Error("an operator is told how to sign in")
	}
	for token, want := range map[string]string{operator: "hooks.example: no route", viewer: ""} { // of one tenant
		i := decode[model.IncidentAnswer](t, a.as(token, "/v1/incidents/"+a.hot.ID.String()))
		if len(i.Told) != 1 || i.Told[0].Error != want || i.Told[0].Delivery == "" {
			t.Errorf("told: %+v, want the error %q", i.Told, want)
		}
	}
	page = a.as(viewer, "/incidents/"+a.hot.ID.String()).Body.String()
	if !strings.Contains(page, "To acknowledge it, sign in as an operator") ||
		!strings.Contains(page, "furrow incident ack "+a.hot.ID.String()) {
		t.Errorf("a viewer is not told how to acknowledge it: %s", page)
	}
	page = a.as(operator, "/incidents/"+a.silent.ID.String()).Body.String()
	if !strings.Contains(page, "the rule notifies nobody") {
		t.Errorf("nobody was told: %s", page)
	}
}
