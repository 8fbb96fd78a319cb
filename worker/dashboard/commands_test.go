package dashboard

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/api"
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

// withCommands gives all devices of a fleet an enrollment with commands.
func (g *guarded) withCommands(t *testing.T, ids ...schema.DeviceID) {
	t.Helper()
	n := &sas.Enrollments{Table: g.Client.Table(g.Names.Enrollments()), SealingKey: sas.NewSealingKey()}
	must.Succeed(t, n.Table.Create(t.Context()))
	must.Have(n.Add(t.Context(), schema.Enrollment{ID: "plant1", Tenant: "contoso", Readings: "readings", Life: time.Hour,
		Commands: true}, nil, nil))(t)
	for _, id := range ids {
		must.Have(sas.NewRegistry(g.Client, g.Names).Update(t.Context(), id, func(d *schema.Device) error {
			d.Enrollment = "plant1"
			return nil
		}))(t)
	}
}

// TestOperatorsOfTheTenantSendCommands: nobody else does, and nobody else's device is told from an unknown one.
func TestOperatorsOfTheTenantSendCommands(t *testing.T) {
	g := newGuarded(t, 4, Config{Loopback: true})
	g.withCommands(t, "d0000", "d0002")
	operator, viewer := g.add(t, "olga", schema.Operator, "contoso"), g.add(t, "vera", schema.Viewer, "contoso")
	foreign := g.add(t, "fred", schema.Operator, "fabrikam")
	const at, body = "/v1/devices/d0000/commands", `{"body":{"heater":"off"},"ttl":"10m"}`
	w := g.tells("POST", at, operator, body)
	var sent api.Command
	if err := json.Unmarshal(w.Body.Bytes(), &sent); w.Code != 200 || err != nil || sent.State != schema.CommandQueued ||
		sent.Who != "olga" || sent.Expires.Sub(sent.Sent) > 11*time.Minute {
		t.Fatalf("sending: %d %s", w.Code, w.Body)
	}
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
