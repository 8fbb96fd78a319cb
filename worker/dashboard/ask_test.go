package dashboard

import (
	"errors"
	"math"
	"net/url"
	"strings"
	"testing"

	"furrow/tables/azuretest"
	"furrow/worker/dashboard/model/modeltest"
)

// TestBadQueriesAreToldWhatWouldBeRight goes through what people get wrong.
func TestBadQueriesAreToldWhatWouldBeRight(t *testing.T) {
	h := newHouse(t, modeltest.New(t, azuretest.Local(t)), Config{Loopback: true})
	for target, want := range map[string]string{
		"/v1/map?bbox=1,2,3":                                   "west,south,east,north",
		"/v1/map?bbox=1,2,3,91":                                "west,south,east,north",
		"/v1/map?bbox=nan,2,3,4":                               "west,south,east,north",
		"/v1/map?bbox=0,50,1,40":                               "swap",
		"/v1/map?zoom=huge":                                    "a number from",
		"/v1/map?zoom=1e400":                                   "a number from",
		"/v1/map?sensor=a-b":                                   "letters, digits",
		"/v1/map?tenant=a/b":                                   "tenant",
		"/v1/map?colour=red":                                   "bbox, zoom, sensor, tenant",
		"/v1/map?zoom=1&zoom=2":                                "once",
		"/v1/map?zoom=%zz":                                     "cannot be read",
		"/v1/sensors?zoom=1":                                   "tenant",
		"/v1/devices?limit=0":                                  "from 1 to 1000",
		"/v1/devices?limit=1001":                               "from 1 to 1000",
		"/v1/devices?state=asleep":                             "ok, silent, held, revoked",
		"/v1/devices?sort=colour":                              "device, time, value",
		"/v1/devices?prefix=a%00":                              "prefix",
		"/v1/devices/a%20b":                                    "device id",
		"/v1/devices/d?x=1":                                    "nothing to ask for",
		"/v1/devices/d/series?from=yesterday":                  "2026-11-21T08:00:00Z",
		"/v1/devices/d/series?window=7x":                       "auto, raw",
		"/v1/devices/d/series?span=2y":                         "1h, 6h",
		"/v1/devices/d/series?span=1h&to=2026-11-21T08:00:00Z": "leave one out",
		"/v1/devices/d/series?from=2026-11-21T08:00:00Z&to=2026-11-20T08:00:00Z": "swap",
		"/v1/tenants/t/day?day=2026-13-01":                                       "2026-11-21",
		"/v1/tenants/t%2Fu/day":                                                  "tenant",
		"/v1/map?sensor=" + strings.Repeat("x", 5000):                            "bytes",
	} {
		w := h.ask("GET", target)
		wantProblem(t, target, w, BadRequest)
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%.80s: %s, want %q", target, w.Body, want)
		}
	}
	if w := h.ask("GET", "/devices?limit=many"); w.Code != 400 || !strings.Contains(w.Header().Get("Content-Type"), "text/html") {
		t.Errorf("a page: %d %s", w.Code, w.Header().Get("Content-Type"))
	}
}

// FuzzQuery holds that a query is read to something in its bounds or refused with
// words, and that what is read does not depend on how it was written.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{"bbox=1,2,3,4&zoom=3", "tenant=a&site=b&prefix=c&state=ok&sort=time&limit=5&after=x", "from=2026-11-21T08:00:00Z&to=2026-11-22T08:00:00%2B02:00&window=1h&sensor=s", "day=2026-11-21", "a;b", "%", "zoom=", "bbox=,,,"} {
		f.Add(q)
	}
	var names []string
	for _, r := range routes() {
		names = append(names, r.asks...)
	}
	f.Fuzz(func(t *testing.T, query string) {
		a, err := parseAsk(query, names)
		if err != nil {
			no, is := errors.AsType[*refusal](err)
			if !is || no.code != BadRequest || len(no.detail) < 20 || len(no.detail) > 1000 {
				t.Fatalf("%q: %v", query, err)
			}
			return
		}
		if b := a.Box; b != nil && !(b[0] >= -180 && b[0] <= 180 && b[1] >= -90 && b[1] <= b[3] && b[3] <= 90 && b[2] >= -180 && b[2] <= 180) {
			t.Errorf("%q: the box is %v", query, *b)
		}
		if z := a.world().Zoom; math.IsNaN(z) || z < -6 || z > 31 {
			t.Errorf("%q: the zoom is %v", query, z)
		}
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatalf("%q is taken", query)
		}
		if again, err := parseAsk(values.Encode(), names); err != nil && len(values.Encode()) <= longestAsk || err == nil && (again.Tenant != a.Tenant || again.Limit != a.Limit || !again.From.Equal(a.From)) {
			t.Errorf("%q: written otherwise it is %+v, %v", query, again, err)
		}
	})
}
