package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/sas/access"
	"furrow/tables"
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

// counted is the number of storage operations that a request causes, without those of the poller.
type countedKey struct{}

func countTable(ctx context.Context, o tables.Operation) { model.CountTable(ctx, o); count(ctx) }
func countQueue(ctx context.Context, o worker.Operation) { model.CountQueue(ctx, o); count(ctx) }

func count(ctx context.Context) {
	if n, ok := ctx.Value(countedKey{}).(*atomic.Int64); ok {
		n.Add(1)
	}
}

// ask answers a request of a visitor, and counts what it costs.
func (v visitor) ask(method, target, form string) (code int, body string, operations int64) {
	r := httptest.NewRequest(method, target, strings.NewReader(url.Values{"form": {form}}.Encode()))
	r.Host = "127.0.0.1:10090"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodDelete { // no form of a page sends it
		r.Header.Set("Authorization", "Bearer "+v.token)
	} else {
		r.Header.Set("Cookie", v.cookie)
	}
	var n atomic.Int64
	w := httptest.NewRecorder()
	v.d.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), countedKey{}, &n)))
	return w.Code, w.Body.String(), n.Load()
}

type asked struct {
	code       int
	body       string
	operations int64
}

// askBoth asks for two targets, which may share with other requests of a few seconds what an own device is read for. If
// these seconds end between the two, it asks again, and so it does if the second changes, which charts end with.
func (v visitor) askBoth(method, first, second, form string, shared bool) (a, b asked) {
	for range 5 {
		began := time.Now().Unix()
		if shared {
			v.ask(method, first, form)
			v.ask(method, second, form)
		}
		a.code, a.body, a.operations = v.ask(method, first, form)
		b.code, b.body, b.operations = v.ask(method, second, form)
		if time.Now().Unix() == began && (!shared || a.operations == b.operations) {
			break
		}
	}
	return a, b
}

// A name is something of another tenant, and something of its kind that does not exist.
type name struct{ other, unknown string }

// TestNoRouteTellsOfAnotherTenant tries every route that the router has, with names of another tenant in place of each
// part of its path and of each parameter. Status, body and storage operations must be those for a name that nobody has,
// before and after somebody who sees all tenants has asked for it.
func TestNoRouteTellsOfAnotherTenant(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	g := newGuarded(t, 8, Config{Loopback: true})
	noRouteTells(t, g, g.Fixture)
}

// TestNoRouteTellsOfAnotherTenantsAccount has the other tenant in another account.
func TestNoRouteTellsOfAnotherTenantsAccount(t *testing.T) {
	if testing.Short() {
		t.Skip("TestNoRouteTellsOfAnotherTenant asks the same routes")
	}
	t.Parallel()
	fleets := []*modeltest.Fixture{modeltest.New(t, azuretest.Local(t)), modeltest.New(t, azuretest.Local(t))}
	fleets[0].Grow(t, 8)
	store := access.NewStore(fleets[0].Client, fleets[0].Names)
	c := Config{Loopback: true, Access: &access.Directory{Store: store}}
	noRouteTells(t, &guarded{overAccounts(t, fleets, c, retaining(), archiving()), store}, fleets[1])
}

// noRouteTells adds another tenant to one of the accounts of a fleet from Grow.
func noRouteTells(t *testing.T, g *guarded, other *modeltest.Fixture) {
	t.Helper()
	secret := schema.Device{ID: "secret-9", Tenant: "fabrikam", Site: "vault",
		Labels:   map[string]string{"floor": "cellar"},
		Position: &schema.Position{Lat: 48, Lon: 11}}
	other.Add(t, secret)
	other.Send(t, secret.ID, time.Now().Add(-time.Minute), map[string]any{"temperature": 21.5, "torque": 3.0})
	other.Fold(t)
	other.Report(t)
	melt := other.Opens(t, "melt", secret.ID, time.Now().Add(-time.Minute), "critical").ID
	absent := melt
	absent.Device = "absent-9"
	hot := g.Opens(t, "hot", "d0000", time.Now().Add(-time.Minute), "warning").ID
	told := commands.Of(other.Client, other.Names)
	must.Succeed(t, told.Table.Create(t.Context()))
	order := must.Have(told.Send(t.Context(), schema.Command{Device: secret.ID, Body: `{"door":"vault"}`}, time.Hour))(t)
	g.run(t, 9)
	g.waitForIncidents(t, 2)
	v := g.signIn(t, g.add(t, "contoso-admin", schema.Admin, "contoso"))
	all := g.signIn(t, g.add(t, "root", schema.Admin, ""))
	status := func() string {
		d, _, err := query.Fleet{Tables: other.Client, Names: other.Names}.Devices().Record(t.Context(), secret.ID)
		must.Succeed(t, err)
		return string(d.Status)
	}
	before := status()
	form := v.form()
	if form == "" {
		t.Fatal("the visitor's pages have no form")
	}
	inPath := map[string]name{"id": {"secret-9", "absent-9"}, "tenant": {"fabrikam", "nobody-1"},
		"pipeline": {"live", "none"}, "incident": {melt.String(), absent.String()},
		"command": {string(order.ID), string(schema.NewCommandID(1, "absent"))}}
	inQuery := map[string]name{"tenant": inPath["tenant"], "site": {"vault", "attic"}, "label": {"floor=cellar",
		"floor=garret"},
		"text": {"secret", "absent"}, "prefix": {"secret", "absent"}, "sensor": {"torque", "absent"}, "with": {"torque",
			"absent"}, "sensors": {"torque", "absent"},
		"devices": {"secret-9", "absent-9"}, "model": {"vault-model", "attic-model"},
		"where": {"torque != nil", "absent != nil"}, "rule": {"melt", "absent"}, "device": inPath["id"],
		"against": inPath["id"], "path": {"archive/fabrikam/readings/x.parquet", "archive/nobody-1/readings/x.parquet"}}
	harmless := []string{"state", "bbox", "zoom", "sort", "after", "limit", "from", "to", "window", "span", "day",
		"newest", "format", "severity", "by", "period", "month", "storage", "generation", "table"}
	tried := 0
	for _, route := range g.routes {
		method, pattern, has := strings.Cut(route.Pattern, " ")
		if !has {
			method, pattern = http.MethodGet, route.Pattern
		}
		if strings.HasSuffix(pattern, "/stream") {
			method = http.MethodHead // the body is a map, whose route is tried too
		}
		compare := func(what, target string, n name) {
			t.Helper()
			tried++
			for range 2 {
				unknown, other := strings.ReplaceAll(target, "NAME", url.QueryEscape(n.unknown)), strings.ReplaceAll(target,
					"NAME", url.QueryEscape(n.other))
				a, b := v.askBoth(method, unknown, other, form, what != "path" || strings.Contains(target, "d0000"))
				a.body, b.body = withoutNames(a.body, n.unknown), withoutNames(b.body, n.other)
				if a != b {
					t.Errorf("%s %s of another tenant: %d after %d operations; unknown: %d after %d\n%s\n%s", target, what, b.code,
						b.operations, a.code, a.operations, b.body, a.body)
				}
				if what == "path" && a.code != http.StatusNotFound {
					t.Errorf("%s %s: %d, want 404", method, target, a.code)
				}
				tells(t, target, b.body)
				if method == http.MethodGet {
					all.ask(method, other, "") // now it is cached
				}
			}
		}
		target := strings.TrimSuffix(pattern, "{$}")
		owned := strings.NewReplacer("{id}", "d0000", "{tenant}", "contoso", "{pipeline}", "live", "{incident}", hot.String(),
			"{command}", string(schema.NewCommandID(1, "own")))
		for _, part := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(target, -1) {
			n, known := inPath[part[1]]
			if !known {
				t.Fatalf("%s: say what %s is in this test", pattern, part[0])
			}
			compare("path", owned.Replace(strings.Replace(target, part[0], "NAME", 1)), n)
		}
		own := owned.Replace(target)
		for _, param := range route.Params {
			if n, known := inQuery[param]; known {
				compare(param, own+"?"+param+"=NAME", n)
			} else if !slices.Contains(harmless, param) {
				t.Errorf("%s: say what the parameter %s is in this test", pattern, param)
			}
		}
		if method == http.MethodGet {
			_, body, _ := v.ask(method, own, "")
			tells(t, own, body)
		}
	}
	acts := slices.DeleteFunc(g.logged(t), func(a schema.Act) bool { return a.Device == "d0000" && a.Failed })
	if after := status(); before != after || len(acts) > 0 {
		t.Errorf("the device of the other tenant was %s and is %s; the log has %+v", before, after, acts)
	}
	if waiting := must.Have(told.Read(t.Context(), secret.ID, 0))(t).Waiting(); waiting != 1 {
		t.Errorf("%d commands wait for the device of the other tenant, not 1", waiting)
	}
	if tried < 30 {
		t.Errorf("only %d names were tried: are the routes those of the router?", tried)
	}
}

// tells fails if an answer has a name of the other tenant.
func tells(t *testing.T, target, body string) {
	t.Helper()
	for _, name := range []string{"fabrikam", "secret-9", "d0001", "d0003", "vault", "cellar", "torque", "melt"} {
		if strings.Contains(body, name) {
			t.Errorf("%s tells of %s: %s", target, name, body)
		}
	}
}

// withoutNames replaces the name that was asked for, and what differs between any two answers.
func withoutNames(body, name string) string {
	body = strings.ReplaceAll(body, "data-live", "") // an attribute of every page, and not the pipeline
	for _, text := range []string{name, strings.Fields(name)[0], url.QueryEscape(name), strings.ReplaceAll(name, "=",
		"&#61;")} {
		body = strings.ReplaceAll(body, text, "NAME")
	}
	for _, changing := range []string{`\d{4}-\d\d-\d\dT[\d:.]+Z`, `\d{1,2} \w{3} \d\d:\d\d(:\d\d)?`, `"requestId":"\w+"`,
		`"operations":\d+`, `Read with [^,<]*`, `\d+(\.\d+)?\x{202f}\w+ ago`, `"(age|lag)Seconds":[\d.e-]+`, `data-(from|to)="\d+"`,
		`\d{13}`} {
		body = regexp.MustCompile(changing).ReplaceAllString(body, "…")
	}
	return body
}

// TestMistypedTenantIsNotFound, as on the command line, and a person's own tenant is known before it has devices.
func TestMistypedTenantIsNotFound(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 4, Config{Loopback: true})
	g.run(t, 4)
	viewer, new := g.add(t, "root", schema.Viewer, ""), g.add(t, "nora", schema.Viewer, "northwind")
	for _, address := range []string{"map", "stream", "overview", "sensors", "devices", "devices?format=csv", "query",
		"query?window=newest", "incidents", "incidents?state=closed", "reports?window=1h", "archive", "verify", "costs",
		"retention"} {
		u := must.Have(url.Parse("/v1/" + address))(t)
		q := u.Query()
		q.Set("tenant", "contosso")
		u.RawQuery = q.Encode()
		wantProblem(t, u.String(), g.as(viewer, u.String()), "not-found")
		if address == "map" || address == "overview" || address == "devices" || address == "query?window=newest" {
			if w := g.as(new, "/v1/"+address); w.Code != http.StatusOK {
				t.Errorf("%s for somebody whose tenant has no devices: %d %s", address, w.Code, w.Body)
			}
		}
	}
	for _, page := range []string{"/", "/devices", "/incidents"} {
		w := g.as(viewer, page+"?tenant=contosso")
		if body := w.Body.String(); w.Code != http.StatusNotFound || !strings.Contains(body, `id="wrong-tenant"`) ||
			!strings.Contains(body, "There is no tenant") {
			t.Errorf("%s: %d %s", page, w.Code, body)
		}
	}
}
