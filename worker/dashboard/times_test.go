package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestTheZeroTimeIsATime: C# sends the year 1 where nobody has chosen a time.
func TestTheZeroTimeIsATime(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 4, Config{Loopback: true})
	must.Succeed(t, g.c.Activity.Do(t.Context(), schema.Act{Who: "ann", What: "device revoke", Device: "d0001",
		From: "command"}, func(context.Context) (string, error) { return "", nil }))
	g.run(t, 4)
	v := g.signIn(t, g.add(t, "root", schema.Operator, ""))
	rows := func(target string) int {
		t.Helper()
		code, body, _ := v.ask(http.MethodGet, target, "")
		var a struct{ Rows, Points, Acts, Days []any }
		if err := json.Unmarshal([]byte(body), &a); code != http.StatusOK || err != nil {
			t.Fatalf("%s: %d %s: %v", target, code, body, err)
		}
		return len(a.Rows) + len(a.Points) + len(a.Acts) + len(a.Days)
	}
	// Days of gaps without a reading are in the answer, so that of all time has too many.
	for _, target := range []string{"/v1/devices/d0001/readings?", "/v1/devices/d0001/series?", "/v1/query?window=1h&",
		"/v1/activity?"} {
		all := rows(target + "from=0001-01-01T00:00:00Z")
		if next := rows(target + "from=0001-01-01T00:00:01Z"); all == 0 || all != next {
			t.Errorf("%s has %d rows since the zero time, %d since the second after it", target, all, next)
		}
		if strings.Contains(target, "/series") {
			continue // a chart of no time is refused
		}
		if none := rows(target + "to=0001-01-01T00:00:00Z"); none != 0 {
			t.Errorf("%s has %d rows before the zero time", target, none)
		}
	}
	var month struct{ From string }
	_, verified, _ := v.ask(http.MethodGet, "/v1/verify?month=0001-01", "")
	if err := json.Unmarshal([]byte(verified), &month); err != nil || month.From != "0001-01-01" {
		t.Errorf("the first month is from %q: %v", month.From, err)
	}
	code, body, _ := v.ask(http.MethodGet, "/v1/devices/d0001/readings?newest=1&from=0001-01-01T00:00:00Z", "")
	if code != http.StatusBadRequest {
		t.Errorf("%d %s", code, body)
	}
}

// TestAllOfTimeTakesFewOperations asks each address that has a span for the longest one, about a small fleet.
func TestAllOfTimeTakesFewOperations(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 4, Config{Loopback: true})
	g.run(t, 4)
	v := g.signIn(t, g.add(t, "root", schema.Operator, ""))
	parts := strings.NewReplacer("{id}", "d0001", "{tenant}", "contoso", "{pipeline}", "live", "{$}", "")
	asked := 0
	for _, route := range g.routes {
		if !slices.Contains(route.Params, "from") || strings.Contains(route.Pattern, " ") {
			continue
		}
		for _, more := range []string{"", "&window=1h", "&window=1d", "&state=closed", "&tenant=contoso"} {
			name, _, _ := strings.Cut(strings.TrimPrefix(more, "&"), "=")
			if more != "" && !slices.Contains(route.Params, name) {
				continue
			}
			for _, span := range []string{"from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59Z", "to=9999-12-31T23:59:59Z",
				"from=0001-01-01T00:00:00Z", "to=0001-01-01T00:00:00Z", "from=9999-12-31T23:59:59Z"} {
				target := parts.Replace(route.Pattern) + "?" + span + more
				began := time.Now()
				code, body, n := v.ask(http.MethodGet, target, "")
				if asked++; code >= http.StatusInternalServerError || n > 60 {
					t.Errorf("%s: %d after %d operations and %s: %.300s", target, code, n, time.Since(began), body)
				}
			}
		}
	}
	if asked < 40 {
		t.Errorf("%d questions were asked", asked)
	}
}

// TestTheLastDayIsADay: it ends with the last time that there is, and not in the year 10000, which JSON does not have.
func TestTheLastDayIsADay(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 4, Config{Loopback: true})
	a, last := newArchive(f.Fixture), schema.DayOf(tables.MaxTicks)
	a.add(t, a.table(t, "contoso", "readings"), last, 2, 0)
	f.run(t, 4)
	for _, target := range []string{"/v1/tenants/contoso/day?day=9999-12-31",
		"/v1/tenants/contoso/summary?day=9999-12-31", "/v1/tenants/contoso/summary?day=9999-12-31&period=week",
		"/v1/archive?tenant=contoso", "/v1/archive?tenant=contoso&to=9999-12-31T23:59:59Z"} {
		w := f.get(target)
		var is struct{ To time.Time }
		if err := json.Unmarshal(w.Body.Bytes(), &is); err != nil || tables.TicksOf(is.To) != tables.MaxTicks {
			t.Errorf("%s: %d %s: %v", target, w.Code, w.Body, err)
		}
	}
	for _, target := range []string{"/tenants/contoso?day=9999-12-31", "/tenants/contoso/report?day=9999-12-31",
		"/archive?tenant=contoso"} {
		if w := f.get(target); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "10000") {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}
