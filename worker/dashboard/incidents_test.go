package dashboard

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
	"furrow/worker/query"
)

// alarmed is a fleet with incidents: of contoso's devices, which have even numbers, three are open and one is closed,
// and of fabrikam's one is open.
type alarmed struct {
	*guarded
	hot, silent, other schema.Transition // open
	past               schema.Transition // closed
	began              time.Time
}

func newAlarmed(t *testing.T) *alarmed {
	t.Helper()
	a := &alarmed{guarded: newGuarded(t, 6, Config{Loopback: true}), began: time.Now().Add(-3 * time.Hour)}
	a.hot = a.Opens(t, "hot", "d0000", a.began.Add(time.Hour), "critical")
	a.silent = a.Opens(t, "silent", "d0002", a.began.Add(2*time.Hour), "warning")
	a.other = a.Opens(t, "hot", "d0001", a.began.Add(90*time.Minute), "critical")
	a.Opens(t, "hot", "d0004", a.began, "info")
	a.past = a.Opens(t, "silent", "d0000", a.began.Add(-time.Hour), "warning")
	a.Closes(t, a.past, a.began.Add(-30*time.Minute))
	a.run(t, 6)
	a.waitForIncidents(t, 4)
	return a
}

// TestIncidentIsFoundAfterItsDeviceWasRegisteredAgain in another month.
func TestIncidentIsFoundAfterItsDeviceWasRegisteredAgain(t *testing.T) {
	effort.Alone(t)
	a := newAlarmed(t)
	token := a.add(t, "vera", schema.Viewer, "contoso")
	const old = "hot~d0000~20260101T000000Z"
	if w := a.as(token, "/v1/incidents/"+old); w.Code != http.StatusNotFound {
		t.Errorf("before it was: %d %s", w.Code, w.Body)
	}
	one := schema.Transition{Home: schema.LatestPartition{Tenant: "contoso", Month: schema.Month{Year: 2026, Month: 1}},
		ID: must.Have(schema.ParseIncidentID(old))(t), Number: 1, What: schema.Opened, Severity: "info", Text: "an old one"}
	a.Write(t, a.Names.Output("incidents"), one.Entity())
	if w := a.as(token, "/v1/incidents/"+old); w.Code != http.StatusOK ||
		!strings.Contains(w.Body.String(), "an old one") {
		t.Errorf("afterwards: %d %s", w.Code, w.Body)
	}
	if w := a.as(token, "/incidents/"+old); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "an old one") {
		t.Errorf("its page: %d %s", w.Code, w.Body)
	}
}

// waitForIncidents waits until so many incidents are open, and their devices are marked.
func (g *fixture) waitForIncidents(t testing.TB, n int) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		all, marked := must.Have(g.c.Model.Incidents.Newest(t.Context(), model.Filter{}, 100))(t), map[string]bool{}
		for _, i := range all {
			marked[i.Device] = true
		}
		list, err := g.c.Model.Lists.Devices(t.Context(), model.ListQuery{Limit: model.MaxListed})
		must.Succeed(t, err)
		for _, d := range list.Devices {
			if d.Severity != "" {
				delete(marked, d.Device)
			}
		}
		if len(all) == n && len(marked) == 0 {
			return
		}
		if time.Since(began) > patience {
			t.Fatalf("after two minutes there are not %d open incidents", n)
		}
	}
}

// as returns the answer to a request with a bearer token.
func (g *guarded) as(token, target string) *httptest.ResponseRecorder {
	return g.get(target, "Authorization", "Bearer "+token)
}

func (g *guarded) posts(token, target, kind, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", target, strings.NewReader(body))
	r.Host = "127.0.0.1:10090"
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

func decode[T any](t testing.TB, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != 200 {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return v
}

func idsOf(all []answers.Incident) string {
	var ids []string
	for _, i := range all {
		ids = append(ids, i.Rule+" "+i.Device+" "+i.State)
	}
	return strings.Join(ids, ", ")
}

func TestIncidentsAreListedNewestFirstAndFiltered(t *testing.T) {
	t.Parallel()
	a := newAlarmed(t)
	token := a.add(t, "root", schema.Viewer, "")
	const open = "silent d0002 open, hot d0001 open, hot d0000 open, hot d0004 open"
	from := a.began.Add(30 * time.Minute).UTC().Format(time.RFC3339)
	for query, want := range map[string]string{
		"": open, "state=open": open, "state=acknowledged": "", "severity=critical": "hot d0001 open, hot d0000 open",
		"rule=silent": "silent d0002 open", "tenant=fabrikam": "hot d0001 open", "device=d0004": "hot d0004 open",
		"site=hall2": "silent d0002 open", "label=none": "", "device=nobody": "",
		"state=closed": "silent d0000 closed", "state=closed&device=d0002": "",
		"from=" + from: "silent d0002 open, hot d0001 open, hot d0000 open",
		"state=open,acknowledged,closed": "silent d0002 open, hot d0000 open, hot d0004 open, silent d0000 closed, " +
			"hot d0001 open", // one tenant after the other
		"state=open,closed&tenant=contoso&to=" + from: "hot d0004 open, silent d0000 closed",
	} {
		got := decode[model.Incidents](t, a.as(token, "/v1/incidents?"+query))
		if idsOf(got.Rows) != want || got.Count != int64(len(got.Rows)) || got.Next != "" {
			t.Errorf("%s: %s; want %s (%+v)", query, idsOf(got.Rows), want, got.Extent)
		}
	}
	for _, wrong := range []string{"state=ok", "severity=bad", "rule=A", "device=x/y", "state=open,open,closed,closed"} {
		wantProblem(t, wrong, a.as(token, "/v1/incidents?"+wrong), "bad-request")
	}
	lines := strings.Split(strings.TrimSpace(a.as(token, "/v1/incidents?format=csv&rule=silent").Body.String()), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "opened,severity,state,muted,rule,device,text,closed,id,") ||
		!strings.Contains(lines[1], ","+a.silent.ID.String()+",") {
		t.Errorf("CSV: %q", lines)
	}
	if text := a.as(token, "/v1/incidents?format=jsonl").Body.String(); strings.Count(text, "\n") != 4 {
		t.Errorf("JSON lines: %s", text)
	}
}

// TestEveryIncidentComesOnceOverAllParts follows the cursor, of open incidents and of all.
func TestEveryIncidentComesOnceOverAllParts(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	a := newAlarmed(t)
	token := a.add(t, "root", schema.Viewer, "")
	for _, states := range []string{"", "state=open,acknowledged,closed"} {
		whole := decode[model.Incidents](t, a.as(token, "/v1/incidents?"+states))
		var all []answers.Incident
		for after := ""; ; {
			part := decode[model.Incidents](t, a.as(token, "/v1/incidents?limit=2&"+states+"&after="+url.QueryEscape(after)))
			all = append(all, part.Rows...)
			if after = part.Next; after == "" || len(all) > 10 {
				break
			}
			if len(part.Rows) != 2 {
				t.Errorf("a part before the last has %d", len(part.Rows))
			}
		}
		if idsOf(all) != idsOf(whole.Rows) {
			t.Errorf("%q in parts: %s; want %s", states, idsOf(all), idsOf(whole.Rows))
		}
	}
	next := decode[model.Incidents](t, a.as(token, "/v1/incidents?limit=1")).Next
	w := a.as(token, "/v1/incidents?limit=1&rule=hot&after="+next)
	wantProblem(t, "the cursor of another question", w, "bad-request")
}

func TestIncidentHasItsTransitionsAndNotes(t *testing.T) {
	t.Parallel()
	a := newAlarmed(t)
	token := a.add(t, "root", schema.Viewer, "")
	i := decode[model.IncidentAnswer](t, a.as(token, "/v1/incidents/"+a.past.ID.String()))
	if i.State != "closed" || len(i.Transitions) != 2 || i.Transitions[0].Value != "195" ||
		i.Transitions[1].What != "closed" || i.Closed == nil || i.Tenant != "contoso" ||
		i.Site != "hall0" || i.Operations > 5 {
		t.Errorf("%+v", i)
	}
	for _, unknown := range []string{"hot~d0000~20200101T000000Z", "hot~nobody~20200101T000000Z"} {
		wantProblem(t, unknown, a.as(token, "/v1/incidents/"+unknown), "not-found")
	}
	wantProblem(t, "no ID", a.as(token, "/v1/incidents/7"), "bad-request")
}

func TestOperatorsAcknowledgeAndNoteByTheAPI(t *testing.T) {
	t.Parallel()
	a := newAlarmed(t)
	at := "/v1/incidents/" + a.hot.ID.String()
	token := a.add(t, "olga", schema.Operator, "contoso")
	i := decode[model.IncidentAnswer](t, a.posts(token, at+"/ack", "application/json", `{"text":"on my way"}`))
	if i.State != "acknowledged" || len(i.Notes) != 1 || i.Notes[0].Who != "olga" || i.Notes[0].Text != "on my way" {
		t.Errorf("acknowledged: %+v", i)
	}
	i = decode[model.IncidentAnswer](t, a.posts(token, at+"/note", "application/x-www-form-urlencoded", "text=the+fan"))
	if len(i.Notes) != 2 || i.Notes[1].What != "note" || i.Notes[1].Text != "the fan" {
		t.Errorf("noted: %+v", i.Notes)
	}
	acts := a.logged(t)
	if len(acts) != 2 || acts[1].What != "incident ack" || acts[1].Who != "olga" || acts[1].From != "API" ||
		acts[0].From != "API" || acts[1].Tenant != "contoso" ||
		acts[1].Device != "d0000" || !strings.Contains(acts[1].Detail, a.hot.ID.String()) {
		t.Errorf("the log has %+v", acts)
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) { // the list knows it by itself
		got := decode[model.Incidents](t, a.as(token, "/v1/incidents?state=acknowledged"))
		if idsOf(got.Rows) == "hot d0000 acknowledged" {
			break
		}
		if time.Since(began) > patience {
			t.Fatalf("after two minutes: %s", idsOf(got.Rows))
		}
	}
	other := "/v1/incidents/" + a.other.ID.String()
	viewer := a.add(t, "vera", schema.Viewer, "")
	for _, c := range []struct {
		token, target, body string
		want                int
	}{{viewer, at + "/ack", "{}", 403}, {token, other + "/ack", "{}", 404}, {token, at + "/note", "{}", 400},
		{token, at + "/note", `{"txt":"x"}`, 400}, {token, at + "/note", `{"text":"` + strings.Repeat("x", 1001) + `"}`, 400},
		{token, "/v1/incidents/" + a.past.ID.String() + "/ack", "", 409}, {"wrong", at + "/ack", "{}", 401},
		{token, "/v1/incidents", "{}", 405}} {
		if w := a.posts(c.token, c.target, "application/json", c.body); w.Code != c.want {
			t.Errorf("%s %s: %d %s, want %d", c.target, c.body, w.Code, w.Body, c.want)
		}
	}
	if n := len(a.logged(t)); n != 2 {
		t.Errorf("refused acts are in the log, which has %d", n)
	}
}

// TestBasicAuthenticationNeedsAForm posts as a browser would that has kept a password.
func TestBasicAuthenticationNeedsAForm(t *testing.T) {
	t.Parallel()
	a := newAlarmed(t)
	token := a.add(t, "olga", schema.Operator, "")
	r := httptest.NewRequest("POST", "/v1/incidents/"+a.hot.ID.String()+"/ack", nil)
	r.Host = "127.0.0.1:10090"
	r.Header.Set("Origin", "http://evil.example")
	r.SetBasicAuth("olga", token)
	w := httptest.NewRecorder()
	if a.ServeHTTP(w, r); w.Code != 403 || len(a.logged(t)) > 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestOpenIncidentsCostNoOperationPerRequest counts the requests of the routes that show open incidents.
func TestOpenIncidentsCostNoOperationPerRequest(t *testing.T) {
	t.Parallel()
	a := newAlarmed(t)
	v := a.signIn(t, a.add(t, "root", schema.Viewer, ""))
	for target, most := range map[string]int64{"/v1/incidents": 0, "/v1/overview": 0, "/v1/map": 0,
		"/v1/incidents?state=closed": 22, "/v1/incidents/" + a.hot.ID.String(): 5} {
		code, body, cost := v.ask("GET", target, "")
		if code != 200 || cost > most {
			t.Errorf("%s: %d after %d operations, want at most %d: %s", target, code, cost, most, body)
		}
		t.Logf("%s: %d operations", target, cost)
	}
}

// TestOverviewAndMapTellOfOpenIncidents also mutes one.
func TestOverviewAndMapTellOfOpenIncidents(t *testing.T) {
	t.Parallel()
	a := newAlarmed(t)
	token := a.add(t, "root", schema.Viewer, "")
	o := decode[model.Overview](t, a.as(token, "/v1/overview"))
	if o.Incidents != (model.OpenIncidents{Critical: 2, Warning: 1, Info: 1}) {
		t.Errorf("%+v", o.Incidents)
	}
	o = decode[model.Overview](t, a.as(token, "/v1/overview?site=hall2"))
	if o.Incidents != (model.OpenIncidents{Warning: 1}) {
		t.Errorf("of a site: %+v", o.Incidents)
	}
	now := tables.TicksOf(time.Now())
	fleet := query.Incidents{Tables: a.Client, Names: a.Names}
	must.Succeed(t, fleet.AddMute(t.Context(), schema.Mute{ID: "m", Device: "d0004", From: now, Until: now * 2}))
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if o = decode[model.Overview](t, a.as(token, "/v1/overview")); o.Incidents.Muted == 1 {
			break
		}
		if time.Since(began) > patience {
			t.Fatalf("after two minutes: %+v", o.Incidents)
		}
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) { // it follows when all tenants have been read
		severities := map[string]string{}
		for _, d := range decode[model.Map](t, a.as(token, "/v1/map")).Devices {
			severities[d.Device] = d.Severity
		}
		if fmt.Sprint(severities) == "map[d0000:critical d0001:critical d0002:warning d0003: d0004: d0005:]" {
			break
		}
		if time.Since(began) > patience {
			t.Fatalf("after two minutes the map has %v", severities)
		}
	}
	list := decode[model.DeviceList](t, a.as(token, "/v1/devices?text=d0002"))
	if list.Devices[0].Severity != "warning" {
		t.Errorf("the list has %+v", list.Devices[0])
	}
}

// TestStreamTellsOfIncidents opens, acknowledges and closes incidents of two tenants under the stream of one.
func TestStreamTellsOfIncidents(t *testing.T) {
	t.Parallel()
	a := newAlarmed(t)
	token := a.add(t, "olga", schema.Operator, "contoso")
	server := httptest.NewServer(a.Dashboard)
	defer server.Close()
	r := must.Have(http.NewRequest("GET", server.URL+"/v1/stream", nil))(t)
	r.Header.Set("Authorization", "Bearer "+token)
	answer := must.Have(http.DefaultClient.Do(r))(t)
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	var m model.Map
	readEvent(t, lines, "map", &m)
	told := make(chan string, 100)
	go func() {
		defer close(told)
		for name, data := anyEvent(lines); name != ""; name, data = anyEvent(lines) {
			var c model.IncidentChange
			if name == "incident" && json.Unmarshal([]byte(data), &c) == nil {
				told <- c.What + " " + idsOf([]answers.Incident{c.Incident})
			}
		}
	}()
	// What is open when the stream begins is no news, so incidents open until it tells of one.
	for n, begun := 0, false; !begun; n++ {
		a.Opens(t, schema.Rule(fmt.Sprint("probe-", n)), "d0002", time.Now(), "warning")
		select {
		case <-told:
			begun = true
		case <-time.After(100 * time.Millisecond):
		}
	}
	next := func() string {
		for {
			if what, is := <-told; !is || !strings.Contains(what, "probe-") {
				return what
			}
		}
	}
	a.Opens(t, "left-open", "d0003", time.Now(), "warning") // of the other tenant
	opened := a.Opens(t, "left-open", "d0002", time.Now(), "warning")
	if got := next(); got != "opened left-open d0002 open" {
		t.Errorf("first %s", got)
	}
	a.posts(token, "/v1/incidents/"+opened.ID.String()+"/ack", "application/json", "")
	if got := next(); got != "changed left-open d0002 acknowledged" {
		t.Errorf("then %s", got)
	}
	a.Closes(t, opened, time.Now())
	if got := next(); got != "closed left-open d0002 closed" {
		t.Errorf("at last %s", got)
	}
}

// anyEvent reads the next event of a stream. At the end of the stream it returns no name.
func anyEvent(lines *bufio.Reader) (name, data string) {
	for {
		text, err := lines.ReadString('\n')
		if err != nil {
			return "", ""
		}
		if rest, is := strings.CutPrefix(text, "event: "); is {
			name = strings.TrimSpace(rest)
		}
		if data, is := strings.CutPrefix(text, "data: "); is {
			return name, data
		}
	}
}

// TestLateEntryOfTheIndexIsFoundOut adds one for an incident that has closed, and one for a device that has left.
func TestLateEntryOfTheIndexIsFoundOut(t *testing.T) {
	t.Parallel()
	a := newAlarmed(t)
	a.Write(t, a.Names.Output("incidents"), a.past.IndexEntity())
	left := a.Devices[4]
	left.Status = schema.Removed
	a.Write(t, a.Names.Devices(), must.Have(left.Entity())(t))
	a.waitForIncidents(t, 3) // without the fourth, of d0004
	fleet := query.Incidents{Tables: a.Client, Names: a.Names}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		x := must.Have(fleet.OpenIndex(t.Context(), "contoso", 100))(t)
		if len(x.Open) == 2 {
			break
		}
		if time.Since(began) > patience {
			t.Fatalf("after two minutes the index has %d", len(x.Open))
		}
	}
	token := a.add(t, "root", schema.Viewer, "")
	got := decode[model.Incidents](t, a.as(token, "/v1/incidents?device=d0004&state=closed"))
	if len(got.Rows) != 1 || got.Rows[0].Reason != query.Removed {
		t.Errorf("%+v", got.Rows)
	}
}
