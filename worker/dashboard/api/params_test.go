package api

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"furrow/sas/access"
	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/dashboard/model"
)

// answer returns the API's answer to a GET request, without storage.
func answer(a *API, target string) *httptest.ResponseRecorder {
	mux := http.NewServeMux()
	Register(mux, a.Routes(), a.Fail)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
	return w
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// TestInvalidRequestsSayWhatIsAllowed makes the usual mistakes.
func TestInvalidRequestsSayWhatIsAllowed(t *testing.T) {
	for target, want := range map[string]string{
		"/v1/map?bbox=1,2,3":     "west,south,east,north",
		"/v1/map?bbox=1,2,3,91":  "west,south,east,north",
		"/v1/map?bbox=nan,2,3,4": "west,south,east,north",
		"/v1/map?bbox=0,50,1,40": "swap",
		"/v1/map?zoom=huge":      "a number from",
		"/v1/map?zoom=1e400":     "a number from",
		"/v1/map?sensor=a-b":     "letters, digits",
		"/v1/map?tenant=a%00":    "tenant",
		"/v1/map?colour=red": "tenant, site, label, model, text, state, where, bbox, " +
			"zoom, sensor",
		"/v1/map?zoom=1&zoom=2":                                "give it once",
		"/v1/map?zoom=%zz":                                     "Invalid query",
		"/v1/sensors?zoom=1":                                   "tenant",
		"/v1/devices?limit=0":                                  "from 1 to 1000",
		"/v1/devices?limit=1001":                               "from 1 to 1000",
		"/v1/devices?state=asleep":                             "ok, new, silent, held, revoked",
		"/v1/devices?label==x":                                 "NAME=TEXT",
		"/v1/devices?sort=colour":                              "device, time, value",
		"/v1/devices?prefix=a%00":                              "prefix",
		"/v1/devices/a%20b":                                    "device id",
		"/v1/devices/d?x=1":                                    "takes no parameters",
		"/v1/devices/d/series?from=yesterday":                  "2026-11-21T08:00:00Z",
		"/v1/devices/d/series?from=-2x":                        "-2h",
		"/v1/devices/d/series?window=7x":                       "auto, raw",
		"/v1/devices/d/series?span=2x":                         "3h, 7d, 2w or 1y",
		"/v1/devices/d/series?span=0":                          "3h, 7d, 2w or 1y",
		"/v1/devices/d/series?span=900y":                       "3h, 7d, 2w or 1y",
		"/v1/devices/d/series?span=1h&to=2026-11-21T08:00:00Z": "leave one out",
		"/v1/devices/d/series?from=2026-11-21T08:00:00Z&to=2026-11-20T08:00:00Z": "swap",
		"/v1/devices/d/readings?newest=1001":                                     "from 1 to 1000",
		"/v1/devices/d/readings?newest=3&limit=3":                                "leave them out",
		"/v1/devices/d/readings?limit=1000001":                                   "from 1 to 1000000",
		"/v1/devices/d/readings?format=xml":                                      "json, jsonl, csv, arrow",
		"/v1/devices/d/readings?sensors=a,,b":                                    "separated by commas",
		"/v1/devices/d/readings?from=-2h&to=-3h":                                 "swap",
		"/v1/devices/d/readings?from=-2h&span=1h":                                "leave one out",
		"/v1/devices/d/readings?newest=3&after=QUJD":                             "leave them out",
		"/v1/devices?where=oil+%3E":                                              "character 5: unexpected",
		"/v1/devices?where=now()+%3E+3":                                          "now is not known",
		"/v1/devices?limit=1001&format=json":                                     "from 1 to 1000",
		"/v1/query?devices=a,,b":                                                 "separated by commas",
		"/v1/query?devices=" + strings.Repeat("a,", 100) + "a":                   "at most 100 names",
		"/v1/query?window=newest&from=-1h":                                       "leave them out",
		"/v1/query?window=1y":                                                    "1m, 1h or 1d",
		"/v1/tenants/t/day?day=2026-13-01":                                       "2026-11-21",
		"/v1/tenants/t%00/day":                                                   "tenant",
		"/v1/map?sensor=" + strings.Repeat("x", 5000):                            "bytes",
	} {
		w := answer(New(nil, []admin.Fleet{{}}, access.Log{}, quiet()), target)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%.80s: %d %s, want %q", target, w.Code, w.Body, want)
		}
	}
}

// TestAnySpanIsTaken asks for spans that no page offers.
func TestAnySpanIsTaken(t *testing.T) {
	for text, want := range map[string]time.Duration{"90m": 90 * time.Minute, "3h": 3 * time.Hour, "1d12h": 36 * time.Hour,
		"2w": 14 * 24 * time.Hour, "3y": 3 * 365 * 24 * time.Hour} {
		p, err := Parsing[Chart]()("span=" + text)
		if q := p.Series("d", time.Now()); err != nil || q.To.Sub(q.From) != want {
			t.Errorf("span=%s: %v to %v, %v", text, q.From, q.To, err)
		}
	}
}

// TestTimesAreThoseOfTheShell has a relative time, a date, and a time without a zone.
func TestTimesAreThoseOfTheShell(t *testing.T) {
	p, err := Parsing[Chart]()("from=-2h")
	if age := time.Since(*p.From); err != nil || age < 2*time.Hour || age > 2*time.Hour+time.Minute {
		t.Errorf("-2h is %v, %v", p.From, err)
	}
	p, err = Parsing[Chart]()("from=2026-11-20&to=2026-11-21T08:30")
	if want := "2026-11-20T00:00:00Z 2026-11-21T08:30:00Z"; err != nil ||
		p.From.Format(time.RFC3339)+" "+p.To.Format(time.RFC3339) != want {
		t.Errorf("%v to %v, %v; want %s", p.From, p.To, err, want)
	}
}

// TestOnePersonLeavesStreamsToOthers opens streams until one is refused.
func TestOnePersonLeavesStreamsToOthers(t *testing.T) {
	a := New(nil, []admin.Fleet{{}}, access.Log{}, quiet())
	open := func(p Person) error {
		r := httptest.NewRequest("GET", "/v1/stream", nil)
		_, _, err := a.openStream(r.WithContext(p.With(t.Context())))
		return err
	}
	n := 0
	for open(Person{Name: "ann", Tenant: "contoso"}) == nil {
		n++
	}
	if n != maxStreams/2 {
		t.Errorf("one person has %d streams", n)
	}
	for i := range 100 {
		_ = open(Person{Name: fmt.Sprint(i), Tenant: "contoso"})
	}
	if err := open(Person{Name: "bob", Tenant: "fabrikam"}); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	if err := open(Person{Name: "carol"}); err != nil {
		t.Errorf("whoever sees all tenants: %v", err)
	}
	err := open(Person{Name: "ann", Tenant: "contoso"})
	if p, is := errors.AsType[*Problem](err); !is || p.Code != TooManyRequests || p.RetryAfter == 0 {
		t.Errorf("one stream too many: %v", err)
	}
}

// many are parameters of all kinds.
type many struct {
	fleetWindows
	Box    *model.Box  `query:"bbox"`
	Zoom   *float64    `query:"zoom"`
	Sensor string      `query:"sensor"`
	Sort   string      `query:"sort"`
	Newest int         `query:"newest"`
	Day    *schema.Day `query:"day"`
}

// FuzzParams proves that a query is parsed to values within their bounds, or refused with a reason, and that
// the result does not depend on how the query is encoded.
func FuzzParams(f *testing.F) {
	for _, q := range []string{
		"bbox=1,2,3,4&zoom=3", "tenant=a&site=b&prefix=c&state=ok&sort=time&limit=5&after=x",
		"from=2026-11-21T08:00:00Z&to=2026-11-22T08:00:00%2B02:00&window=1h&sensor=s", "day=2026-11-21",
		"newest=3&sensors=a,b&format=arrow", "devices=a,b&where=oil.max+%3E+1&window=newest&model=m",
		"from=-2h&to=now", "label=floor=2&text=PUMP",
		"a;b", "%", "zoom=", "bbox=,,,",
	} {
		f.Add(q)
	}
	parse := Parsing[many]()
	f.Fuzz(func(t *testing.T, query string) {
		p, err := parse(query)
		if err != nil {
			problem, is := errors.AsType[*Problem](err)
			if !is || problem.Code != BadRequest || len(problem.Detail) < 20 || len(problem.Detail) > 1000 {
				t.Fatalf("%q: %v", query, err)
			}
			return
		}
		if b := p.Box; b != nil && !(b.OnEarth() && b[1] <= b[3]) {
			t.Errorf("%q: the box is %v", query, *b)
		}
		if z := (Map{p.Filter, p.Box, p.Zoom, p.Sensor}).Query().Zoom; math.IsNaN(z) || z < -6 || z > 31 {
			t.Errorf("%q: the zoom is %v", query, z)
		}
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatalf("%q was accepted", query)
		}
		again, err := parse(values.Encode())
		if err != nil && len(values.Encode()) <= maxQuery ||
			err == nil && (again.Tenant != p.Tenant || again.Limit != p.Limit ||
				apart(again.Within.From, p.Within.From) > time.Minute) {
			t.Errorf("%q: encoded again it is %+v, %v", query, again, err)
		}
	})
}

// apart returns how much time is between two times; where only one is given, more than a minute.
func apart(a, b *time.Time) time.Duration {
	switch {
	case a != nil && b != nil:
		return a.Sub(*b).Abs()
	case a == nil && b == nil:
		return 0
	}
	return time.Hour
}
