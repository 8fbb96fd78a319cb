package dashboard

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model"
	"furrow/worker/query"
)

// TestTenantsSeeTheirOwnCompletenessAlone has counts of two tenants. A device of the second one differs.
func TestTenantsSeeTheirOwnCompletenessAlone(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 8, Config{Loopback: true})
	runs := g.Client.Table(g.Names.Runs())
	put := func(e tables.Entity) { must.Have(runs.Do(t.Context(), tables.InsertOrReplace(e)))(t) }
	day := schema.DayOf(tables.TicksOf(time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC)))
	at := (day + 4).Start()
	for i, v := range []schema.Verified{{Tenant: "contoso", Made: 10_000, Missing: 2, Folded: 9_998, ToFold: 9_998},
		{Tenant: "contoso", Made: 100, Missing: 50, Folded: 50, ToFold: 50}, {Tenant: "contoso", Folded: 7, ToFold: 8},
		{Tenant: "fabrikam", Folded: 5, ToFold: 5, Unexplained: 3}} {
		v.Day, v.At, v.Share, v.Devices, v.Stored = day+schema.Day(i%3), at, 0.01, 1, v.Folded
		put(v.Entity())
		put(schema.Verified{Day: v.Day, At: at, Devices: 1000}.Entity()) // the sum
	}
	put(must.Have(schema.Verification{At: at, Through: day + 3, Last: schema.Verified{Share: 0.01}, Unexplained: 3,
		Differ: []schema.Differing{{Tenant: "fabrikam", Device: "d0001", Day: day.String(), Output: "rollups 1h", Count: 3}},
	}.Entity())(t))
	g.run(t, 8)
	operator := g.signIn(t, g.add(t, "root", schema.Operator, ""))
	contoso := g.signIn(t, g.add(t, "contoso-viewer", schema.Viewer, "contoso"))
	ask := func(v visitor, target string) (found model.Completeness) {
		t.Helper()
		code, body, _ := v.ask(http.MethodGet, target, "")
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", target, code, body)
		}
		must.Succeed(t, json.Unmarshal([]byte(body), &found))
		return found
	}

	all := ask(operator, "/v1/verify?month=2026-11")
	if all.Verifies || all.Share != 0.01 || all.Unexplained != 3 || len(all.Differ) != 1 || len(all.Tenants) != 2 ||
		all.At == nil || all.From != "2026-11-01" {
		t.Fatalf("%+v", all)
	}
	var order []string
	for _, d := range all.Days {
		order = append(order, d.Tenant+" "+d.Day[8:])
	}
	if got := strings.Join(order, ", "); got != "fabrikam 03, contoso 04, contoso 03, contoso 05" {
		t.Errorf("the worst first: %s", got)
	}
	own := ask(contoso, "/v1/verify?month=2026-11")
	if len(own.Tenants) != 1 || len(own.Days) != 3 || len(own.Differ) != 0 || own.Unexplained != 0 {
		t.Errorf("contoso sees %+v", own)
	}
	if m := own.Tenants[0]; m.StoredShare == nil || *m.StoredShare != float64(10_048)/10_100 || m.FoldedShare == nil ||
		*m.FoldedShare >= 1 || m.Devices != 3 {
		t.Errorf("its month is %+v", m)
	}
	if code, _, _ := contoso.ask(http.MethodGet, "/v1/verify?tenant=fabrikam", ""); code != http.StatusNotFound {
		t.Errorf("another tenant: %d", code)
	}
	_, body, _ := operator.ask(http.MethodGet, "/completeness?month=2026-11", "")
	for _, says := range []string{"1 % of the devices", "differences that nothing explains", `href="/devices/d0001"`, "99.98 %", "99.99 %",
		"verify: {sample: 1%, every: 1d}"} {
		if !strings.Contains(body, says) {
			t.Errorf("the page lacks %q", says)
		}
	}
	if _, body, _ := contoso.ask(http.MethodGet, "/completeness?month=2026-11", ""); strings.Contains(body, "d0001") ||
		strings.Contains(body, "fabrikam") || !strings.Contains(body, "50.00 %") {
		t.Error("contoso sees another tenant on the page, or not its own day")
	}
}

// TestTheDevicesPageSaysWhatTheSampleFound of its outputs, and nothing of other devices.
func TestTheDevicesPageSaysWhatTheSampleFound(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 4, Config{Loopback: true})
	g.run(t, 4)
	operator := g.signIn(t, g.add(t, "root", schema.Operator, ""))
	code, body, _ := operator.ask(http.MethodGet, "/v1/devices/d0001", "")
	var found model.DeviceAnswer
	if must.Succeed(t, json.Unmarshal([]byte(body), &found)); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	day := schema.DayOf(tables.TicksOf(time.Now())) - 1
	state := schema.Verification{At: (day + 1).Start(), Through: day, Last: schema.Verified{Share: 0.01}, Unexplained: 3,
		Differ: []schema.Differing{{Tenant: schema.Tenant(found.Device.Tenant), Device: "d0001", Day: day.String(),
			Output: "rollups 1h", Count: 3}}}
	must.Have(g.Client.Table(g.Names.Runs()).Do(t.Context(), tables.InsertOrReplace(must.Have(state.Entity())(t))))(t)
	says := "rollups 1h from " + day.String()
	for device, differs := range map[string]bool{"d0001": true, "d0002": false} {
		if _, body, _ := operator.ask(http.MethodGet, "/devices/"+device, ""); strings.Contains(body, says) != differs {
			t.Errorf("the page of %s says that it differs: %v", device, !differs)
		}
	}
}

// TestTheDevicesPageSaysHowMuchOfADayIsFolded: a late row waits for the next audit. The tracking row that a page reads
// has the counts, so they take no operation.
func TestTheDevicesPageSaysHowMuchOfADayIsFolded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, Config{Loopback: true})
	f.Add(t, schema.Device{ID: "numbered", Position: &schema.Position{Lat: 50, Lon: 8}})
	noon := time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)
	send := func(n uint64) {
		at := schema.RowKey{Ticks: tables.TicksOf(noon.Add(time.Duration(n) * time.Minute)),
			Suffix: schema.Number{Boot: "aaaaaaaa", N: n}.String()}
		f.Write(t, f.Names.Readings(), tables.Entity{PartitionKey: "numbered", RowKey: at.String(),
			Properties: []tables.Property{{Name: "bar", Value: tables.Double(1)}}})
	}
	for _, n := range []uint64{1, 2, 5} {
		send(n)
	}
	f.Fold(t)
	send(3)
	f.run(t, 2)
	w, a := f.get("/v1/devices/numbered"), model.DeviceAnswer{}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || len(a.Pipelines) != 1 {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	days, yesterday := a.Pipelines[0].Days, noon.Format(time.DateOnly)
	if len(days) != 7 || days[1] != (query.FoldedDay{Day: yesterday, Rows: 3}) {
		t.Errorf("the days are %+v", days)
	}
	// its record, whether it is in the fleet, newest values, rejects, tracking row, the oldest row that waits
	if a.Operations == 0 || a.Operations > 6 {
		t.Errorf("the answer took %d operations, want at most 6", a.Operations)
	}
	row := `<th scope="row" class="unbroken">` + yesterday + `</th><td class="n">5</td><td class="n">1</td><td class="n">4` +
		`</td><td class="n">3 <span class="muted">of 4</span></td>`
	if page := f.get("/devices/numbered").Body.String(); !strings.Contains(page, row) {
		t.Errorf("the page lacks %s:\n%s", row, page)
	}
}
