package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// TestRulesShowWhatCameOfThem to those who see the fleet, and to a tenant what is its own.
func TestRulesShowWhatCameOfThem(t *testing.T) {
	a := newAlarmed(t)
	now := tables.TicksOf(time.Now())
	until := now + tables.Ticks(time.Hour/100)
	for _, m := range []schema.Mute{{ID: "1", Rule: "hot", From: now, Until: until, Who: "olga",
		Text: "the vault is repaired"}, {ID: "2", Tenant: "contoso", From: now, Until: until, Who: "anna",
		Text: "a test at contoso"}} {
		must.Succeed(t, query.Fleet{Tables: a.Client, Names: a.Names}.Incidents().AddMute(t.Context(), m))
	}
	operator, viewer := a.add(t, "olga", schema.Operator, ""), a.add(t, "vera", schema.Viewer, "contoso")
	row := func(page, rule string) string {
		_, rest, _ := strings.Cut(page, `data-key="`+rule+`"`)
		row, _, _ := strings.Cut(rest, "</tr>")
		return row
	}
	page := a.as(operator, "/rules").Body.String()
	if got := row(page, "hot"); !strings.Contains(got, "temperature above 30") || !strings.Contains(got, ">ops<") ||
		!strings.Contains(got, `<td class="n">6</td>`) || !strings.Contains(got, ">3</a></td><td") ||
		!strings.Contains(page, "furrow rule try hot --last 30d") || !strings.Contains(page, "the vault is repaired") {
		t.Errorf("hot: %s in %s", got, page)
	}
	page = a.as(viewer, "/rules").Body.String()
	if got := row(page, "hot"); !strings.Contains(got, `<td class="n">3</td>`) || !strings.Contains(got, ">2</a></td><td") ||
		strings.Contains(page, "the vault is repaired") {
		t.Errorf("of one tenant: %s in %s", got, page)
	}
}

// TestConfigurationShowsWhoChangedWhat to viewers, and the file and its changes to operators.
func TestConfigurationShowsWhoChangedWhat(t *testing.T) {
	g := newGuarded(t, 2, Config{Loopback: true})
	table := g.Client.Table(g.Names.Config())
	must.Succeed(t, table.Create(t.Context()))
	for i, text := range []string{"cadence: 1m\n", "cadence: 5m\n"} {
		c := schema.Configuration{Generation: int64(i + 1), Text: text, By: "olga", Change: "the cadence", ID: "x", Format: 1}
		must.Have(table.Do(t.Context(), tables.Insert(must.Have(c.Entity())(t))))(t)
	}
	g.run(t, 2)
	viewer, operator := g.add(t, "vera", schema.Viewer, ""), g.add(t, "olga", schema.Operator, "")
	customer := g.add(t, "carl", schema.Admin, "contoso")
	page := g.as(viewer, "/configuration").Body.String()
	if !strings.Contains(page, "the cadence") || strings.Contains(page, "cadence: ") {
		t.Errorf("a viewer's page: %s", page)
	}
	page = g.as(operator, "/configuration").Body.String()
	if !strings.Contains(page, "generation 2") || !strings.Contains(page, "-cadence: 1m") ||
		!strings.Contains(page, "+cadence: 5m") && !strings.Contains(page, "&#43;cadence: 5m") {
		t.Errorf("an operator's page: %s", page)
	}
	if page = g.as(operator, "/configuration?generation=1").Body.String(); !strings.Contains(page, "cadence: 1m") ||
		strings.Contains(page, "cadence: 5m") {
		t.Errorf("the first generation: %s", page)
	}
	for address, want := range map[string]int{"/configuration?generation=7": http.StatusNotFound,
		"/configuration?generation=x": http.StatusBadRequest} {
		if w := g.as(operator, address); w.Code != want {
			t.Errorf("%s: %d %s", address, w.Code, w.Body)
		}
	}
	if w := g.as(customer, "/configuration"); w.Code != http.StatusNotFound {
		t.Errorf("a customer: %d %s", w.Code, w.Body)
	}
}
