package dashboard

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/sas/access"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/commands"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/model/modeltest"
	"furrow/worker/query"
)

// spread adds devices of two tenants and three months to fleets in turn: contoso has some in each, with equal sites.
func spread(t *testing.T, n int, now time.Time, fleets ...*modeltest.Fixture) {
	t.Helper()
	for i := range n {
		f := fleets[i/2%len(fleets)]
		id := schema.DeviceID(fmt.Sprintf("d%04d", i))
		f.Add(t, schema.Device{ID: id, Tenant: schema.Tenant([]string{"contoso", "fabrikam"}[i%2]),
			Site: schema.Site(fmt.Sprint("hall", i%3)), Labels: map[string]string{"floor": fmt.Sprint(i % 2)},
			Month:    schema.Month{Year: 2026, Month: time.Month(8 + i%3)},
			Position: &schema.Position{Lat: float64(i), Lon: float64(10 * i)}})
		for j, ago := range []time.Duration{26 * time.Hour, 3 * time.Hour, time.Hour, 2 * time.Minute, time.Minute} {
			at := now.Add(time.Duration(i)*time.Second - ago) // of equal times, any can be the first
			f.Send(t, id, at, map[string]any{"temperature": float64(10*i + j), "door": []string{"open", "shut"}[i%2]})
		}
		if i%4 < 3 {
			f.Opens(t, schema.Rule([]string{"hot", "silent"}[i%2]), id, now.Add(-time.Duration(i)*time.Minute), "warning")
		}
		if i%3 == 0 {
			f.Closes(t, f.Opens(t, "shut", id, now.Add(-time.Duration(i)*time.Minute), "info"), now)
		}
	}
	for _, f := range fleets {
		f.Fold(t)
		f.Report(t)
	}
}

// TestFleetInTwoAccountsLooksLikeOneInOne compares the answers of all routes of the API.
func TestFleetInTwoAccountsLooksLikeOneInOne(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	const devices = 12
	now := time.Now().Truncate(time.Second)
	one := modeltest.New(t, azuretest.Local(t))
	two := []*modeltest.Fixture{modeltest.New(t, azuretest.Local(t)), modeltest.New(t, azuretest.Local(t))}
	spread(t, devices, now, one)
	spread(t, devices, now, two...)
	whole := over(t, one, Config{Loopback: true}, retaining())
	parts := overAccounts(t, two, Config{Loopback: true}, retaining())
	whole.run(t, devices)
	parts.run(t, devices)
	whole.waitForIncidents(t, 9)
	parts.waitForIncidents(t, 9)
	span := url.Values{"from": {now.Add(-30 * time.Hour).UTC().Format(time.RFC3339)},
		"to": {now.Add(time.Minute).UTC().Format(time.RFC3339)}}.Encode()
	day := now.UTC().Format(time.DateOnly)
	targets := []string{"/v1/map", "/v1/map?zoom=8&sensor=door", "/v1/map?tenant=contoso&bbox=0,0,90,20", "/v1/overview",
		"/v1/overview?tenant=fabrikam", "/v1/outliers", "/v1/sensors", "/v1/sensors?tenant=contoso", "/v1/devices",
		"/v1/devices?sort=value&limit=5", "/v1/devices?sort=time&site=hall1&limit=2", "/v1/devices?label=floor%3D1",
		"/v1/devices?where=temperature%3E45", "/v1/query?limit=7&window=1h&" + span, "/v1/query?window=newest&limit=5",
		"/v1/query?tenant=contoso&window=1h&limit=100&" + span,
		"/v1/query?window=1h&devices=d0001,d0002,d0003&" + span, "/v1/reports?limit=3&window=1h&" + span,
		"/v1/reports?by=site&limit=4&window=1h&" + span, "/v1/reports?by=site&site=hall1&window=1d&" + span,
		"/v1/reports?by=labels.floor&tenant=contoso&" + span, "/v1/costs", "/v1/costs?tenant=contoso",
		"/v1/costs?window=1d", "/v1/retention", "/v1/readings?tenant=contoso&limit=7&" + span,
		"/v1/archive/files?tenant=contoso", "/v1/archive/file?path=archive/contoso/x.parquet",
		"/v1/archive", "/v1/archive?tenant=contoso", "/v1/verify", "/v1/tenants",
		"/v1/tenants/contoso/day?day=" + day,
		"/v1/tenants/contoso/summary?period=week&day=" + day, "/v1/tenants/fabrikam/summary?by=labels.floor&day=" + day,
		"/v1/incidents", "/v1/incidents?limit=2", "/v1/incidents?state=open,closed&limit=2", "/v1/incidents?state=closed",
		"/v1/incidents?state=open,closed&device=d0006", "/v1/activity?" + span, "/openapi.json", "/healthz",
		"/v1/devices/absent", "/v1/tenants/absent/day"}
	for _, id := range []string{"d0000", "d0002", "d0003"} {
		for _, of := range []string{"", "/series?sensor=temperature&window=1h&" + span, "/series?sensor=door&" + span,
			"/readings?limit=2&" + span, "/readings?newest=2", "/gaps?" + span, "/commands"} {
			targets = append(targets, "/v1/devices/"+id+of)
		}
	}
	for _, i := range answerOf(t, whole, "/v1/incidents?state=open,closed")["rows"].([]any) {
		targets = append(targets, "/v1/incidents/"+url.PathEscape(i.(map[string]any)["id"].(string)))
	}
	tried := map[string]bool{"/v1/stream": true, "/v1/devices/{id}/stream": true, // their first event is a map, or nothing
		"/v1/pipelines": true, "/v1/devices/{id}/desired": true, "/v1/devices/{id}/commands": true}
	for _, target := range targets {
		want, got := answerOf(t, whole, target), answerOf(t, parts, target)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s in two accounts:\n%s\nin one:\n%s", target, textOf(t, got), textOf(t, want))
		}
		request, _ := http.NewRequest(http.MethodGet, target, nil)
		_, pattern := parts.mux.Handler(request)
		tried[pattern] = true
	}
	for _, route := range parts.api.Routes() {
		if !tried[route.Pattern] && (!strings.Contains(route.Pattern, " ") || strings.HasPrefix(route.Pattern, "GET ")) {
			t.Errorf("%s was not tried", route.Pattern)
		}
	}
	pipelines, _, _ := strings.Cut(parts.get("/v1/pipelines").Body.String(), `"limits":`)
	names := regexp.MustCompile(`"storage":"([^"]*)"`).FindAllStringSubmatch(pipelines, -1)
	if len(names) != 4 || names[1][1] != "account 1" || names[2][1] != "account 2" {
		t.Errorf("the pipelines are in %v", names)
	}
}

// answerOf returns an answer with all parts that follow it, without what differs from time to time.
func answerOf(t *testing.T, f *fixture, target string) map[string]any {
	t.Helper()
	var whole map[string]any
	for next, at := "", target; ; at = target + "&after=" + url.QueryEscape(next) {
		if next != "" && !strings.Contains(target, "?") {
			at = target + "?after=" + url.QueryEscape(next)
		}
		w := f.get(at)
		var part map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &part); err != nil {
			t.Fatalf("%s: %v: %s", at, err, w.Body)
		}
		part["status"] = float64(w.Code)
		next, _ = part["next"].(string)
		steady(part)
		if whole == nil {
			whole = part
		} else {
			for _, list := range []string{"rows", "devices"} {
				if more, has := part[list].([]any); has {
					whole[list] = append(whole[list].([]any), more...)
				}
			}
		}
		if next == "" {
			return whole
		}
	}
}

// steady removes what says when and how an answer was made.
func steady(part any) {
	switch part := part.(type) {
	case map[string]any:
		for name := range maps.Clone(part) {
			_, isTable := part[name].(string)
			if slices.Contains([]string{"at", "ageSeconds", "lagSeconds", "operations", "rowsRead", "next", "requestId",
				"readingsPerMinute", "through", "lastBatch"}, name) || name == "readings" && isTable {
				delete(part, name)
			}
			steady(part[name])
		}
	case []any:
		for _, one := range part {
			steady(one)
		}
	}
}

func textOf(t *testing.T, part map[string]any) string {
	t.Helper()
	text, err := json.Marshal(part)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestOtherAccountsAreShownWhileOneIsAway: pages say which one is missing, and what is in it is unavailable.
func TestOtherAccountsAreShownWhileOneIsAway(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	fleets := []*modeltest.Fixture{modeltest.New(t, azuretest.Local(t)), modeltest.New(t, azuretest.Local(t))}
	spread(t, 12, now, fleets...) // d0000, d0001, d0004 … in the first
	store := access.NewStore(fleets[0].Client, fleets[0].Names)
	g := &guarded{overAccounts(t, fleets, Config{Loopback: true, Access: &access.Directory{Store: store}}), store}
	fleets[1].Fail(true)
	day := "?day=" + now.UTC().Format(time.DateOnly)
	g.run(t, 6)
	until(t, "one account is missing", func() bool {
		return g.get("/v1/overview").Header().Get(IncompleteHeader) == "1 of 2 storage accounts cannot be read"
	})
	answers := map[string]struct {
		code int
		has  []string
	}{
		"/":                                   {200, []string{"d0000", "account 2"}},
		"/devices":                            {200, []string{"d0001", "account 2"}},
		"/pipelines":                          {200, []string{"in account 1", "cannot be read", "account 2"}},
		"/v1/tenants/contoso/day" + day:       {200, []string{`"devices":3`}},
		"/v1/incidents?state=open,closed":     {200, []string{"d0001"}},
		"/v1/reports?window=1h&span=7d":       {200, []string{`"devices":3`}},
		"/v1/query?window=1h&span=7d":         {200, []string{"d0000"}},
		"/v1/query?window=1d&from=0001-01-01": {200, []string{"d0000"}},
		"/v1/costs":                           {200, []string{`"tenants"`}},
		"/v1/devices/d0000":                   {200, []string{`"contoso"`}},
		"/v1/devices/d0002":                   {503, []string{"storage"}},
		"/v1/devices/absent":                  {503, []string{"storage"}},
		"/v1/devices/d0002/readings":          {503, []string{"storage"}},
		"/tenants/contoso/report?period=week": {200, []string{"account 2"}},
	}
	for target, want := range answers {
		w := g.get(target)
		for _, text := range want.has {
			if w.Code != want.code || !strings.Contains(strings.ToLower(w.Body.String()), strings.ToLower(text)) {
				t.Errorf("%s: %d, want %d with %q: %s", target, w.Code, want.code, text, w.Body)
			}
		}
		if is := w.Header().Get(IncompleteHeader) != ""; is != strings.HasPrefix(target, "/v1/") {
			t.Errorf("%s has the header: %v", target, is)
		}
	}
	v := g.signIn(t, g.add(t, "contoso-viewer", schema.Viewer, "contoso"))
	for target, want := range map[string]int{"/v1/overview": http.StatusUnauthorized, "/healthz": http.StatusOK} {
		if w := g.get(target); w.Code != want || w.Header().Get(IncompleteHeader) != "" {
			t.Errorf("whoever has not signed in gets %d of %s with %v", w.Code, target, w.Header())
		}
	}
	if _, body, _ := v.ask(http.MethodGet, "/devices", ""); !strings.Contains(body, "A part of the storage") ||
		strings.Contains(body, "account 2") {
		t.Errorf("one who sees a tenant gets %s", body)
	}
	fleets[1].Fail(false)
	until(t, "all devices are back", func() bool {
		w := g.get("/v1/overview", "Authorization", "Bearer "+v.token)
		return strings.Contains(w.Body.String(), `"devices":6,`) && w.Header().Get(IncompleteHeader) == ""
	})
}

// TestAnswerIsWholeOrSaysThatItIsNot while an account goes away: what it has is there, or there is an error, or the
// answer says that it is left out.
func TestAnswerIsWholeOrSaysThatItIsNot(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	fleets := []*modeltest.Fixture{modeltest.New(t, azuretest.Local(t)), modeltest.New(t, azuretest.Local(t))}
	spread(t, 12, now, fleets...)
	f := overAccounts(t, fleets, Config{Loopback: true})
	f.run(t, 12)
	f.waitForIncidents(t, 9)
	whole := map[string][]any{} // rows of each answer
	for _, target := range []string{"/v1/query?window=1h&span=7d", "/v1/reports?by=site&window=1h&span=7d",
		"/v1/incidents?state=open,closed"} {
		whole[target] = answerOf(t, f, target)["rows"].([]any)
	}
	fleets[1].Fail(true)
	until(t, "all answers leave it out", func() bool {
		left := 0
		for target, rows := range whole {
			w := f.get(target)
			var got struct{ Rows []any }
			if json.Unmarshal(w.Body.Bytes(), &got); w.Code == http.StatusServiceUnavailable {
				continue
			}
			said, same := w.Header().Get(IncompleteHeader) != "", reflect.DeepEqual(got.Rows, rows)
			if w.Code != http.StatusOK || !same && !said {
				t.Errorf("%s: %d with %d of %d rows, and does not say so", target, w.Code, len(got.Rows), len(rows))
			}
			if said && !same && len(got.Rows) > 0 {
				left++
			}
		}
		return left == len(whole)
	})
}

// TestAnswerThatIsKeptSaysThatItIsNotWhole: an answer that left out an account is used for a while, and says so, also
// when the account is back.
func TestAnswerThatIsKeptSaysThatItIsNotWhole(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	fleets := []*modeltest.Fixture{modeltest.New(t, azuretest.Local(t)), modeltest.New(t, azuretest.Local(t))}
	spread(t, 12, now, fleets...)
	f := overAccounts(t, fleets, Config{Loopback: true})
	f.run(t, 12)
	fleets[1].Fail(true)
	until(t, "an account is missing", func() bool { return f.get("/v1/overview").Header().Get(IncompleteHeader) != "" })
	api := "/v1/tenants/contoso/day?day=" + now.UTC().Format(time.DateOnly)
	if w := f.get(api); !strings.Contains(w.Body.String(), `"devices":3`) {
		t.Fatalf("without an account: %d %s", w.Code, w.Body)
	}
	fleets[1].Fail(false)
	until(t, "both are back", func() bool { return f.get("/v1/overview").Header().Get(IncompleteHeader) == "" })
	until(t, "the answer is whole", func() bool {
		w := f.get(api)
		whole, said := strings.Contains(w.Body.String(), `"devices":6`), w.Header().Get(IncompleteHeader) != ""
		if w.Code != http.StatusOK || whole == said {
			t.Errorf("%d, whole: %v, says that it is not: %v", w.Code, whole, said)
		}
		return whole || t.Failed()
	})
}

// TestDeviceInTwoAccountsIsShownFromTheFirst, as while it is copied, until it has left there.
func TestDeviceInTwoAccountsIsShownFromTheFirst(t *testing.T) {
	t.Parallel()
	fleets := []*modeltest.Fixture{modeltest.New(t, azuretest.Local(t)), modeltest.New(t, azuretest.Local(t))}
	place := &schema.Position{Lat: 1, Lon: 2}
	for i, site := range []schema.Site{"old", "new"} {
		fleets[i].Add(t, schema.Device{ID: "pump-7", Site: site, Position: place})
		fleets[i].Send(t, "pump-7", time.Now().Add(-time.Minute), map[string]any{"temperature": float64(i)})
		fleets[i].Fold(t)
	}
	f := overAccounts(t, fleets, Config{Loopback: true})
	f.run(t, 1)
	until(t, "both are read", func() bool { return strings.Contains(f.get("/v1/tenants").Body.String(), `"total":1`) })
	shows := func(site, value string) {
		t.Helper()
		for target, want := range map[string]string{"/v1/devices/pump-7": `"value":` + value, "/v1/devices": `"value":` + value,
			"/v1/devices?site=" + site: `"total":1`} {
			if body := f.get(target).Body.String(); !strings.Contains(body, want) {
				t.Errorf("%s does not have %s: %s", target, want, body)
			}
		}
	}
	shows("old", "0")
	fleets[0].Add(t, schema.Device{ID: "pump-7", Site: "old", Status: schema.Removed, Position: place})
	f.c.Model.Devices.Forget("pump-7")
	f.get("/v1/devices/pump-7")
	shows("new", "1")
}

// until waits until something holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("after two minutes: not %s", what)
		}
	}
}

// TestActsGoToTheAccountOfWhatTheyAreAbout: all are in the log of the first one, which people look at.
func TestActsGoToTheAccountOfWhatTheyAreAbout(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	fleets := []*modeltest.Fixture{modeltest.New(t, azuretest.Local(t)), modeltest.New(t, azuretest.Local(t))}
	spread(t, 8, time.Now().Truncate(time.Second), fleets...)
	for _, f := range fleets {
		must.Succeed(t, commands.Of(f.Client, f.Names).Table.Create(t.Context()))
	}
	(&guarded{fixture: &fixture{Fixture: fleets[1]}}).withCommands(t, "d0003")
	store := access.NewStore(fleets[0].Client, fleets[0].Names)
	g := &guarded{overAccounts(t, fleets, Config{Loopback: true, Access: &access.Directory{Store: store}}), store}
	queue := must.Have(g.c.Acts[1].Pipelines())(t)[0].Queue
	must.Succeed(t, queue.Poison(t.Context(), worker.Poisoned{Text: "none", Cause: "cursed", At: time.Now()}))
	g.run(t, 8)
	v := g.signIn(t, g.add(t, "alice", schema.Operator, ""))
	does := func(target, says string, fields ...string) {
		t.Helper()
		w := v.post(target, append(fields, "once", once(t, v.get(target).Body.String()))...)
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), says) {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	does("/devices/d0002/revoke", "d0002 is revoked", "how", "now")
	does("/devices/d0003/command", "d0003", "text", `{"door":"open"}`, "for", "1h")
	hot := v.incident(t, "hot", "d0006")
	does("/incidents/"+hot+"/ack", "acknowledged")
	does("/incidents/"+hot+"/mute", "Muted until", "how", "rule", "for", "1h")
	does("/pipelines/live/redrive?storage=account+2", "in the queue of live: 1.")
	for _, target := range []string{"/pipelines/live/redrive", "/pipelines/live/redrive?storage=account+3"} {
		if code := v.get(target).Code; code != http.StatusNotFound {
			t.Errorf("%s: %d", target, code)
		}
	}
	if page := v.get("/pipelines").Body.String(); strings.Contains(page, `redrive?storage=account%201"`) ||
		strings.Contains(page, `href="/pipelines/live/redrive"`) {
		t.Errorf("the page of the pipelines offers to redrive nothing: %s", page)
	}
	for i, f := range fleets {
		fleet := query.Fleet{Tables: f.Client, Names: f.Names}
		d, found, err := fleet.Devices().Record(t.Context(), "d0002")
		must.Succeed(t, err)
		if found != (i == 1) || found && d.Status != schema.Revoked {
			t.Errorf("account %d has the device: %v, %s", i+1, found, d.Status)
		}
		told, err := commands.Of(f.Client, f.Names).Read(t.Context(), "d0003", 0)
		if must.Succeed(t, err); told.Waiting() != i {
			t.Errorf("account %d has %d commands", i+1, told.Waiting())
		}
		mutes := 0
		for m, err := range fleet.Incidents().Mutes(t.Context(), "contoso") {
			if must.Succeed(t, err); m.Rule == "hot" && m.Who == "alice" {
				mutes++
			}
		}
		if mutes != 1 {
			t.Errorf("account %d has %d mutes of the rule", i+1, mutes)
		}
		acts := 0
		for _, err := range access.NewLog(f.Client, f.Names).Acts(t.Context(), "", time.Now().Add(-time.Hour),
			time.Now().Add(time.Minute)) {
			must.Succeed(t, err)
			acts++
		}
		if want := []int{6, 0}[i]; acts != want {
			t.Errorf("the log of account %d has %d acts, want %d", i+1, acts, want)
		}
	}
}

// incident returns the ID of an open incident.
func (v visitor) incident(t *testing.T, rule, device string) string {
	t.Helper()
	var found string
	until(t, "the incident is open", func() bool {
		var all model.Incidents
		w := v.get("/v1/incidents?rule=" + rule + "&device=" + device)
		if json.Unmarshal(w.Body.Bytes(), &all); len(all.Rows) == 1 {
			found = all.Rows[0].ID
		}
		return found != ""
	})
	return found
}
