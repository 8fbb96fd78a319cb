package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"furrow/sas"
	"furrow/sas/access"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/commands"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/dashboard/api"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// tells makes a request of the API with a token.
func (g *guarded) tells(method, target, token, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

// withoutOutcomes has the activity log take that an act begins, and never its outcome.
func (g *guarded) withoutOutcomes(t *testing.T) {
	t.Helper()
	begun := map[string]bool{}
	client := must.Have(tables.Connect(tables.Config{Account: g.Account, Retry: policy.RetryOptions{MaxRetries: -1},
		Transport: faults.Func(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPut && begun[r.URL.Path] {
				return nil, errors.New("there is no answer")
			}
			answer, err := http.DefaultClient.Do(r)
			begun[r.URL.Path] = err == nil && answer.StatusCode == http.StatusNoContent
			return answer, err
		})}))(t)
	*g.c.Acts[0].Log = access.NewLog(client, g.Names)
}

// withCommands gives devices the enrollment plant1, with commands. There is plant2, without.
func (g *guarded) withCommands(t *testing.T, ids ...schema.DeviceID) {
	t.Helper()
	n := &sas.Enrollments{Table: g.Client.Table(g.Names.Enrollments()), SealingKey: sas.NewSealingKey()}
	must.Succeed(t, n.Table.Create(t.Context()))
	for _, id := range []schema.EnrollmentID{"plant1", "plant2"} {
		must.Have(n.Add(t.Context(), schema.Enrollment{ID: id, Tenant: "contoso", Readings: "readings", Life: time.Hour,
			Commands: id == "plant1"}, nil, nil))(t)
	}
	for _, id := range ids {
		g.enroll(t, id, "plant1")
	}
}

func (g *guarded) enroll(t *testing.T, id schema.DeviceID, in schema.EnrollmentID) {
	t.Helper()
	must.Have(sas.NewRegistry(g.Client, g.Names).Update(t.Context(), id, func(d *schema.Device) error {
		d.Enrollment = in
		return nil
	}))(t)
}

// TestActWithoutAnOutcomeInTheLogIsAnswered: a program that is told to try again would send the command twice.
func TestActWithoutAnOutcomeInTheLogIsAnswered(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 2, Config{Loopback: true})
	g.withCommands(t, "d0000")
	g.withoutOutcomes(t)
	operator := g.add(t, "olga", schema.Operator, "contoso")
	const at = "/v1/devices/d0000/"
	sent := decode[answers.Command](t, g.tells("POST", at+"commands", operator, `{"body":1}`))
	set := decode[answers.Command](t, g.tells("PUT", at+"desired", operator, `{"limit":180}`))
	if sent.State != schema.CommandQueued || sent.Who != "olga" || fmt.Sprint(set.Body) != "map[limit:180]" {
		t.Errorf("sent: %+v; set: %+v", sent, set)
	}
	canceled := decode[answers.Command](t, g.tells("DELETE", at+"commands/"+sent.ID, operator, ""))
	if canceled.State != schema.CommandCanceled {
		t.Errorf("canceled: %+v", canceled)
	}
	for _, a := range g.logged(t) {
		if a.Outcome != "" {
			t.Errorf("the log has the outcome of %+v", a)
		}
	}
}

// TestOperatorsOfTheTenantSendCommands: nobody else does, and nobody else's device is told from an unknown one.
func TestOperatorsOfTheTenantSendCommands(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 4, Config{Loopback: true})
	g.withCommands(t, "d0000", "d0002")
	operator, viewer := g.add(t, "olga", schema.Operator, "contoso"), g.add(t, "vera", schema.Viewer, "contoso")
	foreign := g.add(t, "fred", schema.Operator, "fabrikam")
	const at, body = "/v1/devices/d0000/commands", `{"body":{"heater":"off"},"ttl":"10m"}`
	w := g.tells("POST", at, operator, body)
	var sent answers.Command
	if err := json.Unmarshal(w.Body.Bytes(), &sent); w.Code != 200 || err != nil || sent.State != schema.CommandQueued ||
		sent.Who != "olga" || sent.Expires.Sub(sent.Sent) > 11*time.Minute {
		t.Fatalf("sending: %d %s", w.Code, w.Body)
	}
	past := tables.TicksOf(time.Now().Add(-8 * 24 * time.Hour))
	expired := schema.NewCommandID(past, "x")
	must.Succeed(t, commands.Of(g.Client, g.Names).Insert(t.Context(), schema.Command{Device: "d0000", ID: expired,
		Body: "1", Expires: past.Add(time.Hour)}))
	for name, try := range map[string]struct {
		method, target, token, body, header, value string
		want                                       int
	}{
		"viewer":             {"POST", at, viewer, body, "", "", 403},
		"nobody":             {"POST", at, "", body, "", "", 401},
		"foreign":            {"POST", at, foreign, body, "", "", 404},
		"foreign reads":      {"GET", at, foreign, "", "", "", 404},
		"foreign cancels":    {"DELETE", at + "/" + sent.ID, foreign, "", "", "", 404},
		"foreign configures": {"PUT", "/v1/devices/d0000/desired", foreign, "1", "", "", 404},
		"unknown device":     {"POST", "/v1/devices/nobody/commands", operator, body, "", "", 404},
		"no JSON type":       {"POST", at, operator, body, "Content-Type", "text/plain", 400},
		"no JSON":            {"POST", at, operator, "{", "", "", 400},
		"no body":            {"POST", at, operator, `{"ttl":"1h"}`, "", "", 400},
		"misspelt":           {"POST", at, operator, `{"body":1,"tll":"1h"}`, "", "", 400},
		"for ever":           {"POST", at, operator, `{"body":1,"ttl":"8d"}`, "", "", 400},
		"too long":           {"POST", at, operator, `{"body":"` + strings.Repeat("x", 20<<10) + `"}`, "", "", 400},
		"unknown command":    {"DELETE", at + "/0639308592000000000-x", operator, "", "", "", 404},
		"expired command":    {"DELETE", at + "/" + string(expired), operator, "", "", "", 409},
		"no command":         {"DELETE", at + "/7", operator, "", "", "", 400},
		"no configuration":   {"GET", "/v1/devices/d0000/desired", operator, "", "", "", 404},
		"no such method":     {"PATCH", at, operator, body, "", "", 405},
	} {
		headers := []string{}
		if try.header != "" {
			headers = []string{try.header, try.value}
		}
		if w := g.tells(try.method, try.target, try.token, try.body, headers...); w.Code != try.want {
			t.Errorf("%s: %d, want %d: %s", name, w.Code, try.want, w.Body)
		}
	}
	if w := g.tells("DELETE", at+"/"+sent.ID, operator, ""); w.Code != 200 ||
		!strings.Contains(w.Body.String(), "canceled") {
		t.Errorf("canceling: %d %s", w.Code, w.Body)
	}
	if w := g.tells("PUT", "/v1/devices/d0000/desired", operator, `{"limit":180}`); w.Code != 200 {
		t.Errorf("configuring: %d %s", w.Code, w.Body)
	}
	if w := g.tells("GET", "/v1/devices/d0000/desired", viewer, ""); w.Code != 200 ||
		!strings.Contains(w.Body.String(), `{"limit":180}`) {
		t.Errorf("the configuration: %d %s", w.Code, w.Body)
	}
	var list api.Commands
	w = g.tells("GET", at, viewer, "")
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list.Commands) != 1 || list.Waiting != 0 ||
		list.Commands[0].By != "olga" {
		t.Errorf("the list: %d %s", w.Code, w.Body)
	}
	acts := g.logged(t)
	var done []string
	for _, a := range acts {
		done = append(done, a.What)
		if a.Who != "olga" || a.From != "API" || a.Tenant != "contoso" {
			t.Errorf("the log has %+v", a)
		}
	}
	if len(done) < 3 || !strings.Contains(strings.Join(done, ", "), "command send") {
		t.Errorf("the log has %q", done)
	}
	if w := g.tells("POST", at, "", body, "Cookie", g.signIn(t, operator).cookie); w.Code != http.StatusForbidden {
		t.Errorf("from another site, with the cookie of a session: %d %s", w.Code, w.Body)
	}
}

// withToldDevice gives a device commands in several states and a desired configuration, and returns the ID of the one
// that waits.
func (g *guarded) withToldDevice(t *testing.T, id schema.DeviceID) string {
	t.Helper()
	g.withCommands(t, id)
	to := commands.Of(g.Client, g.Names)
	must.Succeed(t, to.Table.Create(t.Context()))
	send := func(body string) schema.CommandID {
		return must.Have(to.Send(t.Context(), schema.Command{Device: id, Body: body, Who: "olga"}, time.Hour))(t).ID
	}
	done, canceled := send(`{"valve":"open"}`), send(`{"valve":"shut"}`)
	ack := schema.Ack{Device: id, ID: done, Row: schema.RowKey{Ticks: tables.TicksOf(time.Now())},
		State: schema.CommandSucceeded, Result: `{"valve":"open"}`}
	g.Write(t, g.Names.Commands(), ack.Entity())
	must.Have(to.Cancel(t.Context(), id, canceled, "olga"))(t)
	must.Have(to.SetDesired(t.Context(), id, `{"limit":180}`, "olga"))(t)
	return string(send(`{"heater":"off"}`))
}

// TestOperatorsTellDevicesFromThePage what to do: each act is confirmed, done once, recorded, and shown.
func TestOperatorsTellDevicesFromThePage(t *testing.T) {
	g := newGuarded(t, 4, Config{Loopback: true})
	g.run(t, 4)
	g.withCommands(t, "d0000")
	v := g.signIn(t, g.add(t, "olga", schema.Operator, "contoso"))
	if page := v.get("/devices/d0000").Body.String(); !strings.Contains(page, "No commands were sent") ||
		!strings.Contains(page, `href="/devices/d0000/command"`) {
		t.Errorf("without commands, the page is %s", page)
	}
	w := v.acts(t, "/devices/d0000/command", "text", `{"heater":"off"}`, "for", "10m")
	if w.Code != 200 || !strings.Contains(w.Body.String(), "waits for the device") {
		t.Fatalf("sending: %d %s", w.Code, w.Body)
	}
	w = v.acts(t, "/devices/d0000/desired", "text", `{"limit":180}`)
	if w.Code != 200 || !strings.Contains(w.Body.String(), "The configuration is set") {
		t.Errorf("configuring: %d %s", w.Code, w.Body)
	}
	if page := v.get("/devices/d0000/desired").Body.String(); !strings.Contains(page, "{&#34;limit&#34;:180}</textarea>") {
		t.Errorf("the form does not have what is set: %s", page)
	}
	page := v.get("/devices/d0000").Body.String()
	for _, want := range []string{"{&#34;heater&#34;:&#34;off&#34;}", "{&#34;limit&#34;:180}", "queued", "olga"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %s: %s", want, page)
		}
	}
	cancel := regexp.MustCompile(`/devices/d0000/commands/[^/"]+/cancel`).FindString(page)
	w = v.acts(t, cancel)
	if w.Code != 200 || !strings.Contains(w.Body.String(), "is canceled") {
		t.Errorf("canceling: %d %s", w.Code, w.Body)
	}
	if page := v.get(cancel).Body.String(); !strings.Contains(page, "it can no longer be canceled") {
		t.Errorf("after it is canceled: %s", page)
	}
	if page := v.get("/devices/d0000").Body.String(); !strings.Contains(page, "canceled by olga") {
		t.Errorf("the page has %s", page)
	}
	var did []string
	for _, a := range g.logged(t) {
		if a.Who != "olga" || a.From != "dashboard" || a.Device != "d0000" || a.Tenant != "contoso" || a.Failed {
			t.Errorf("the log has %+v", a)
		}
		did = append(did, a.What)
	}
	if got := strings.Join(did, ", "); got != "command cancel, device desired set, command send" {
		t.Errorf("the log has %s", got)
	}
}

// TestPageTellsDevicesNothingThatItMayNot: what is refused is neither sent nor recorded.
func TestPageTellsDevicesNothingThatItMayNot(t *testing.T) {
	g := newGuarded(t, 4, Config{Loopback: true})
	g.run(t, 4)
	order := g.withToldDevice(t, "d0000")
	g.enroll(t, "d0002", "plant2")
	v := g.signIn(t, g.add(t, "olga", schema.Operator, "contoso"))
	form := once(t, v.get("/devices/d0000/command").Body.String())
	for what, fields := range map[string][]string{
		"no JSON":     {"text", "{", "for", "10m"},
		"for a year":  {"text", "1", "for", "365d"},
		"for nothing": {"text", "1"},
		"nothing":     {"for", "10m"},
	} {
		if w := v.post("/devices/d0000/command", append(fields, "once", form+what)...); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
	}
	for what, try := range map[string]struct {
		path string
		want int
	}{
		"an unknown command":           {"/devices/d0000/commands/0639308592000000000-x/cancel", 404},
		"no command":                   {"/devices/d0000/commands/7/cancel", 404},
		"another device's command":     {"/devices/d0002/commands/" + order + "/cancel", 404},
		"a device of another tenant":   {"/devices/d0001/command", 404},
		"a device without commands":    {"/devices/d0002/command", 409},
		"configuring, without command": {"/devices/d0002/desired", 409},
	} {
		if w := v.post(try.path, "once", "x"+what, "text", "1", "for", "10m"); w.Code != try.want {
			t.Errorf("%s: %d, want %d: %s", what, w.Code, try.want, w.Body)
		}
	}
	if page := v.get("/devices/d0002/command").Body.String(); !strings.Contains(page, "its enrollment has no commands") {
		t.Errorf("before it is confirmed, the page does not say so: %s", page)
	}
	viewer := g.signIn(t, g.add(t, "vera", schema.Viewer, "contoso"))
	if page := viewer.get("/devices/d0000").Body.String(); strings.Contains(page, "/command\"") ||
		strings.Contains(page, "/cancel") || !strings.Contains(page, "{&#34;heater&#34;:&#34;off&#34;}") {
		t.Errorf("a viewer sees %s", page)
	}
	if w := viewer.post("/devices/d0000/command", "once", "v", "text", "1", "for", "10m"); w.Code != http.StatusForbidden {
		t.Errorf("a viewer sends: %d %s", w.Code, w.Body)
	}
	all := must.Have(commands.Of(g.Client, g.Names).Read(t.Context(), "d0000", 0))(t)
	if len(all.Commands) != 3 {
		t.Errorf("%d commands were sent", len(all.Commands))
	}
	for _, a := range g.logged(t) {
		if !a.Failed {
			t.Errorf("the log has %+v", a)
		}
	}
}
