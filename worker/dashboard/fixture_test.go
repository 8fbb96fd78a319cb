package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/rules"
	"furrow/sas"
	"furrow/sas/access"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/model/modeltest"
)

type fixture struct {
	*modeltest.Fixture
	*Dashboard
}

func newFixture(t testing.TB, n int, c Config) *fixture {
	t.Helper()
	fleet := modeltest.New(t, azuretest.Local(t))
	fleet.Grow(t, n)
	return over(t, fleet, c)
}

// sensorsOf says what the rows of a device mean. One device numbers them.
func sensorsOf(id schema.DeviceID) *fold.Sensors {
	if id == "d0002" {
		return &fold.Sensors{Sequence: "fCnt"}
	}
	return &fold.Sensors{}
}

func over(t testing.TB, fleet *modeltest.Fixture, c Config, also ...model.Pipeline) *fixture {
	t.Helper()
	return overAccounts(t, []*modeltest.Fixture{fleet}, c, also...)
}

// overAccounts returns a dashboard of a fleet in several accounts. The first one has who is let in.
func overAccounts(t testing.TB, fleets []*modeltest.Fixture, c Config, also ...model.Pipeline) *fixture {
	t.Helper()
	shown := model.Config{Interval: 50 * time.Millisecond, ReadTimeout: patience, Log: slog.New(slog.DiscardHandler)}
	for i, fleet := range fleets {
		tables, queues := fleet.Readers(t, countTable, countQueue)
		shown.Accounts = append(shown.Accounts, model.Account{Name: fmt.Sprint("account ", i+1), Tables: tables,
			Queues: queues, Names: fleet.Names, Pipelines: append([]model.Pipeline{livePipeline()}, also...)})
		acts := admin.Fleet{Tables: tables, Names: fleet.Names,
			Policies:    &sas.Policies{Client: tables, Names: fleet.Names},
			Enrollments: &sas.Enrollments{Table: tables.Table(fleet.Names.Enrollments())},
			Pipelines: func() ([]admin.Pipeline, error) {
				return []admin.Pipeline{{Pipeline: fleet.Pipeline, Queue: queues.Queue(fleet.Names, "live")}}, nil
			}}
		if i == 0 {
			c.Activity = access.NewLog(tables, fleet.Names)
		}
		acts.Log = &c.Activity
		c.Acts = append(c.Acts, acts)
	}
	c.Model = model.New(shown)
	return &fixture{fleets[0], newDashboard(t, c)}
}

func livePipeline() model.Pipeline {
	hot := rules.Limit{Above: &rules.Bound{Number: 30}}
	return model.Pipeline{Name: "live", Cadence: time.Minute, Tables: []string{"latest", "incidents"},
		Watches: []model.Rule{{Name: "hot", When: "temperature above 30", Sensor: "temperature", Limits: hot.Numbers,
			Notify: []string{"ops"}, Watches: func(schema.Member, string) bool { return true }},
			{Name: "silent", When: "silence for 1h"}},
		Stored:  time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC),
		Unit:    func(sensor string, _ ...string) string { return map[string]string{"temperature": "°C"}[sensor] },
		Windows: []schema.Window{schema.Minute, schema.Hour, schema.Daily},
		Reports: []schema.Window{schema.Hour, schema.Daily},
		By:      []schema.By{schema.ByTenant, schema.BySite, schema.ByLabel("floor")},
		Sensors: func(m schema.Member) *fold.Sensors { return sensorsOf(m.Device) },
		Model: func(m schema.Member) string {
			if m.Site == "" {
				return ""
			}
			return string(m.Site) + "-model"
		}}
}

// newDashboard returns a dashboard that has no storage unless c has a model.
func newDashboard(t testing.TB, c Config) *Dashboard {
	t.Helper()
	c.Log = slog.New(slog.DiscardHandler)
	if c.Model == nil {
		c.Model = model.New(model.Config{Accounts: make([]model.Account, 1)})
	}
	d := must.Have(New(c))(t)
	return d
}

// patience is how long a test waits for what must happen. It bounds only how long a failure takes.
const patience = 2 * time.Minute

// run runs the model until the test ends, and waits until it knows all n devices.
func (f *fixture) run(t testing.TB, n int) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- f.c.Model.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	f.waitFor(t, n)
}

func (f *fixture) waitFor(t testing.TB, n int) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		var m model.Map
		w := f.get("/v1/map")
		if json.Unmarshal(w.Body.Bytes(), &m); m.InView == n && m.Total == n && m.Scale != nil {
			return
		}
		if time.Since(began) > patience {
			t.Fatalf("after two minutes the map has %d devices: %s", m.Total, w.Body)
		}
	}
}

func (d *Dashboard) get(target string, headers ...string) *httptest.ResponseRecorder {
	return d.do("GET", target, headers...)
}

// do answers a request from this machine; headers are names and values in turn.
func (d *Dashboard) do(method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "127.0.0.1:10090"
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w
}

// addresses returns an address of every route, for a fleet from Grow; TestEveryRouteHasAnAddress has the exceptions.
func addresses() []string {
	return []string{
		"/", "/?zoom=3&bbox=-10,30,30,60", "/devices", "/devices?state=silent&sort=time", "/devices/d0001",
		"/devices/d0001?span=7d&sensor=temperature", "/outliers", "/rules", "/configuration", "/pipelines",
		"/tenants", "/tenants/contoso",
		"/tenants/contoso/report?period=week", "/archive?tenant=contoso", "/limits", "/completeness",
		"/activity",
		"/v1/tenants/contoso/summary?period=month",
		"/v1/map", "/v1/map?bbox=170,-60,-170,60&zoom=9.5&sensor=temperature&tenant=contoso", "/v1/sensors",
		"/v1/overview?label=floor&text=D0",
		"/v1/devices?bbox=-180,-90,180,90&zoom=2&limit=3&sort=value", "/v1/devices/d0001",
		"/v1/devices/d0001/series?window=raw&span=6h",
		"/v1/devices/d0001/readings?sensors=door&span=6h", "/v1/devices/d0001/readings?newest=2",
		"/v1/query", "/v1/query?window=newest&tenant=contoso", "/v1/reports?by=site", "/v1/reports?tenant=contoso&window=1d",
		"/v1/incidents?state=closed", "/v1/pipelines", "/v1/archive?tenant=contoso", "/v1/verify?month=2026-11",
		"/v1/activity?from=-2h",
		"/v1/tenants?limit=1",
		"/v1/tenants/contoso/day?sensor=temperature", "/openapi.json", "/healthz",
		"/incidents", "/costs", "/retention", "/v1/outliers", "/v1/devices/d0001/gaps",
		"/v1/devices/d0001/commands", "/v1/readings?devices=d0001&span=6h", "/v1/costs", "/v1/retention",
	}
}

// wantProblem fails unless w is the problem with the given code and says what to do.
func wantProblem(t *testing.T, what string, w *httptest.ResponseRecorder, code api.Code) {
	t.Helper()
	var p api.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Errorf("%s: %d %s: %v", what, w.Code, w.Body, err)
		return
	}
	want := api.NewProblem(code, "", "")
	if w.Code != want.Status || p.Code != code || p.Status != w.Code || len(p.Detail) < 20 || p.RequestID == "" ||
		w.Header().Get("Content-Type") != "application/problem+json" || p.RequestID != w.Header().Get("X-Request-Id") {
		t.Errorf("%s: %d %+v, want %s", what, w.Code, p, code)
	}
}

// serve serves the dashboard on a free port until stop is called or the test ends.
func (f *fixture) serve(t testing.TB) (url string, stop context.CancelFunc, ended chan error) {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(context.Background())
	ended = make(chan error, 1)
	go func() { ended <- (&Server{Dashboard: f.Dashboard, Listener: l}).Run(ctx) }()
	t.Cleanup(stop)
	return "http://" + l.Addr().String(), stop, ended
}
