package dashboard

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/model/modeltest"
)

// A house is a dashboard over a yard, without a network.
type house struct {
	*modeltest.Yard
	view *model.Store
	*Dashboard
}

func newHouse(t testing.TB, y *modeltest.Yard, c Config) *house {
	t.Helper()
	client, queues := y.Readers(t, model.CountTable, model.CountQueue)
	c.View = model.New(model.Config{Tables: client, Queues: queues, Names: y.Names, Every: 20 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		Pipelines: []model.Pipeline{{Name: "live", Cadence: time.Minute, Latest: true, Windows: []schema.Window{schema.Minute, schema.Hour, schema.Daily}}}})
	c.Log = slog.New(slog.DiscardHandler)
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &house{y, c.View, d}
}

// opened is a house whose view runs until the test ends.
func opened(t testing.TB, y *modeltest.Yard, c Config) *house {
	t.Helper()
	h := newHouse(t, y, c)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- h.view.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return h
}

func grown(t testing.TB, n int) *modeltest.Yard {
	t.Helper()
	y := modeltest.New(t, azuretest.Local(t))
	y.Grow(t, n)
	return y
}

// ask is a request of this machine and its answer.
func (h *house) ask(method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "127.0.0.1:10090"
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// settle looks until the devices are known.
func (h *house) settle(t testing.TB, devices int) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		var m struct {
			Total, InView int
			Scale         *[2]float64
		}
		w := h.ask("GET", "/v1/map")
		if json.Unmarshal(w.Body.Bytes(), &m); m.InView == devices && m.Total == devices && m.Scale != nil {
			return
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("after 20 s the map has %d devices: %s", m.Total, w.Body)
		}
	}
}

// everything is every address that there is, of a yard that has grown.
func everything() []string {
	return []string{"/", "/?zoom=3&bbox=-10,30,30,60", "/devices", "/devices?state=silent&sort=time", "/devices/d0001", "/devices/d0001?span=7d&sensor=temperature",
		"/pipelines", "/tenants", "/tenants/contoso", "/v1/map", "/v1/map?bbox=170,-60,-170,60&zoom=9.5&sensor=temperature&tenant=contoso", "/v1/sensors",
		"/v1/devices?bbox=-180,-90,180,90&zoom=2&limit=3&sort=value", "/v1/devices/d0001", "/v1/devices/d0001/series?window=raw&span=6h", "/v1/pipelines",
		"/v1/tenants?limit=1", "/v1/tenants/contoso/day?sensor=temperature", "/openapi.json", "/healthz"}
}

// wantProblem holds that an answer is a problem of a code, with words of what to do.
func wantProblem(t *testing.T, what string, w *httptest.ResponseRecorder, code Code) {
	t.Helper()
	var p problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Errorf("%s: %d %s: %v", what, w.Code, w.Body, err)
		return
	}
	if w.Code != codes()[code] || p.Code != code || p.Status != w.Code || len(p.Detail) < 20 || w.Header().Get("Content-Type") != "application/problem+json" ||
		p.RequestID == "" || p.RequestID != w.Header().Get("X-Request-Id") {
		t.Errorf("%s: %d %+v, want %s", what, w.Code, p, code)
	}
}

// listening serves a house on a port of its own until the test ends.
func listening(t testing.TB, h *house) (url string, stop context.CancelFunc, ended chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended = make(chan error, 1)
	go func() { ended <- (&Server{Dashboard: h.Dashboard, Listener: l}).Run(ctx) }()
	t.Cleanup(stop)
	return "http://" + l.Addr().String(), stop, ended
}

// event reads the next one of a stream: its name and its data.
func event(t testing.TB, line func() (string, error)) (name, data string) {
	t.Helper()
	for {
		text, err := line()
		if err != nil {
			t.Fatal(err)
		}
		text = strings.TrimSuffix(text, "\n")
		if rest, is := strings.CutPrefix(text, "event: "); is {
			name = rest
		}
		if rest, is := strings.CutPrefix(text, "data: "); is {
			return name, rest
		}
	}
}
