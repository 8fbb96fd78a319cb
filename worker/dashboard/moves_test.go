package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/commands"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
)

// A movedFixture is a fleet whose device d0000 moved from contoso to fabrikam two hours ago, and then from hall0 to
// hall9. It had one reading before, and has three since.
type movedFixture struct {
	*guarded
	at                    time.Time
	former, current, none visitor
}

func newMoved(t *testing.T) *movedFixture {
	t.Helper()
	f := &movedFixture{guarded: newGuarded(t, 4, Config{Loopback: true}), at: time.Now().Add(-2 * time.Hour)}
	f.Opens(t, "early", "d0000", f.at.Add(-time.Hour), "warning")
	must.Have(sas.NewRegistry(f.Client, f.Names).Move(t.Context(), sas.Move{Device: "d0000", To: "fabrikam",
		At: tables.TicksOf(f.at)}))(t)
	must.Have(sas.NewRegistry(f.Client, f.Names).Change(t.Context(), "d0000", func(d *schema.Device) error {
		d.Site, d.Labels = "hall9", map[string]string{"floor": "9"}
		return nil
	}))(t)
	now := f.Devices[0]
	now.Tenant = "fabrikam"
	f.Devices = append([]schema.Device{now}, f.Devices...)
	f.Opens(t, "recent", "d0000", f.at.Add(time.Hour), "warning")
	for range 2 { // the former tenant's buckets are made again
		f.Fold(t)
		for _, d := range f.Devices {
			at := d.Member().Place()
			must.Have(f.Pipeline.Do(t.Context(), jobs.Message{Kind: jobs.Audit, Audit: refold.Full, Pipeline: "live",
				Run: tables.TicksOf(time.Now()), First: at, Last: at}, jobstest.NoPut{}, nil))(t)
		}
	}
	f.Report(t)
	f.run(t, 4) // before there is any access, so that nobody has to sign in
	f.waitForIncidents(t, 2)
	f.former = f.signIn(t, f.add(t, "ann", schema.Operator, "contoso"))
	f.current = f.signIn(t, f.add(t, "bob", schema.Operator, "fabrikam"))
	f.none = f.signIn(t, f.add(t, "eve", schema.Operator, "globex"))
	return f
}

// answer decodes the answer of a request.
func answer[T any](t *testing.T, v visitor, target string) (a T) {
	t.Helper()
	w := v.get(target)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", target, w.Code, w.Body)
	}
	must.Succeed(t, json.Unmarshal(w.Body.Bytes(), &a))
	return a
}

// TestTenantsOfAMovedDeviceShareItsReadings: by rows, windows, series, reports and files, each reading is one tenant's,
// and the sums of both are those of all.
func TestTenantsOfAMovedDeviceShareItsReadings(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f := newMoved(t)
	tenants := []visitor{f.former, f.current}
	var all []string
	for i, v := range tenants {
		rows := answer[model.Readings](t, v, "/v1/devices/d0000/readings?from=-24h").Rows
		for _, r := range rows {
			if r.Time.Before(f.at) != (i == 0) {
				t.Errorf("tenant %d sees the reading of %v", i, r.Time)
			}
			all = append(all, r.Row)
		}
		newest := answer[model.Readings](t, v, "/v1/devices/d0000/readings?newest=100").Rows
		csv := v.get("/v1/devices/d0000/readings?from=-24h&format=csv&sensors=temperature").Body.String()
		lines := strings.Count(csv, "\n")
		if len(newest) != len(rows) || lines != len(rows)+1 {
			t.Errorf("tenant %d sees %d rows, %d newest ones, and %d lines", i, len(rows), len(newest), lines)
		}
	}
	slices.Sort(all)
	if len(all) != 4 || len(slices.Compact(all)) != 4 {
		t.Errorf("the tenants see %d rows, want each of 4 once", len(all))
	}
	root := f.signIn(t, f.add(t, "root", schema.Viewer, ""))
	both, after := int64(0), "" // by those who see all tenants, a window a part
	for n := 0; n == 0 || after != "" && n < 30; n++ {
		part := answer[model.Windows](t, root, "/v1/query?window=1h&from=-24h&sensors=temperature&limit=1&after="+
			url.QueryEscape(after))
		for _, w := range part.Rows {
			both += w.Sensors.Map()["temperature"].Count
		}
		after = part.Next
	}
	if both != 16 {
		t.Errorf("the windows of all tenants have %d readings, want 16", both)
	}
	seen := map[string]bool{}
	after = "" // a row a part
	for n := 0; n == 0 || after != "" && n < 30; n++ {
		part := answer[model.FleetReadings](t, root, "/v1/readings?from=-24h&limit=1&after="+url.QueryEscape(after))
		for _, r := range part.Rows {
			if at := r.Device + " " + r.Row; seen[at] {
				t.Errorf("%s comes twice", at)
			} else {
				seen[at] = true
			}
		}
		after = part.Next
	}
	if len(seen) != 16 {
		t.Errorf("the parts have %d readings, want 16", len(seen))
	}
	var counts, queried, charted, reported, wide []int64
	for _, v := range tenants {
		var raw, buckets, points, groups int64
		for _, d := range []string{"d0000", "d0001", "d0002", "d0003"} {
			if w := v.get("/v1/devices/" + d + "/readings?from=-24h&sensors=temperature"); w.Code == http.StatusOK {
				raw += int64(len(answer[model.Readings](t, v, "/v1/devices/"+d+"/readings?from=-24h").Rows))
			}
		}
		rows := answer[model.FleetReadings](t, v, "/v1/readings?from=-24h&sensors=temperature").Rows
		wide = append(wide, int64(len(rows)))
		for _, w := range answer[model.Windows](t, v, "/v1/query?window=1h&from=-24h&sensors=temperature").Rows {
			buckets += w.Sensors.Map()["temperature"].Count
		}
		// The same question of both at the same time, one after the other.
		span := fmt.Sprintf("from=%s&to=%s", f.at.Add(-20*time.Hour).UTC().Format(time.RFC3339),
			f.at.Add(4*time.Hour).UTC().Format(time.RFC3339))
		series := answer[model.Series](t, v, "/v1/devices/d0000/series?sensor=temperature&window=1h&"+span)
		for _, p := range series.Points {
			points += p.Count
		}
		for _, r := range answer[model.Reports](t, v, "/v1/reports?window=1h&from=-24h&sensors=temperature").Rows {
			groups += r.Sensors.Map()["temperature"].Count
		}
		counts, queried = append(counts, raw), append(queried, buckets)
		charted, reported = append(charted, points), append(reported, groups)
	}
	want := []int64{5, 11}
	if !slices.Equal(wide, want) {
		t.Errorf("the readings of all devices are %d, want %d", wide, want)
	}
	if !slices.Equal(counts, want) || !slices.Equal(queried, want) || !slices.Equal(reported, want) {
		t.Errorf("readings %d, by windows %d, in reports %d, want %d", counts, queried, reported, want)
	}
	if want := []int64{1, 3}; !slices.Equal(charted, want) {
		t.Errorf("the charts have %d readings, want %d", charted, want)
	}
}

// TestFiltersFindAMovedDeviceAsEachTenantHadIt, and the former tenant learns nothing of what it has become.
func TestFiltersFindAMovedDeviceAsEachTenantHadIt(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f := newMoved(t)
	root := f.signIn(t, f.add(t, "root", schema.Viewer, ""))
	for filter, want := range map[string][3]int64{
		"":                               {1, 3, 4},
		"site=hall0":                     {1, 0, 1},
		"site=hall9":                     {0, 3, 3},
		"model=hall0-model":              {1, 0, 1},
		"model=hall9-model":              {0, 3, 3},
		"label=floor":                    {0, 3, 3},
		"label=floor%3D9&devices=d0000":  {0, 3, 3},
		"text=D0000":                     {1, 3, 4},
		"site=hall0&text=d0000&prefix=d": {1, 0, 1},
		"where=" + url.QueryEscape(`labels.floor == "9"`): {0, 3, 3},
		"where=" + url.QueryEscape(`labels.floor == nil`): {1, 0, 1},
	} {
		for i, v := range []visitor{f.former, f.current, root} {
			target := "/v1/query?window=1h&from=-24h&sensors=temperature&" + filter
			w := v.get(target)
			if w.Code == http.StatusNotFound && want[i] == 0 {
				continue // it names the device
			}
			var got int64
			for _, r := range answer[model.Windows](t, v, target).Rows {
				if r.Device != "d0000" {
					continue
				}
				got += r.Sensors.Map()["temperature"].Count
				if (r.Tenant == "contoso") != r.Time.Before(f.at.Truncate(time.Hour)) {
					t.Errorf("%s: the window of %v is of %s", filter, r.Time, r.Tenant)
				}
			}
			lines := strings.Count(v.get(target+"&format=csv").Body.String(), "\nd0000,")
			if got != want[i] || (lines > 0) != (got > 0) {
				t.Errorf("%q by visitor %d has %d readings and %d lines, want %d", filter, i, got, lines, want[i])
			}
		}
	}
}

// TestFormerTenantSeesADeviceAsItWas, and does nothing with it: its page and answers tell when it moved, and nothing of
// the time since or of the new tenant.
func TestFormerTenantSeesADeviceAsItWas(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f := newMoved(t)
	was := answer[model.DeviceAnswer](t, f.former, "/v1/devices/d0000")
	if was.Device.Status != "moved" || was.State != model.Moved || was.Device.Tenant != "contoso" ||
		was.Device.Until == nil || !was.Device.Until.Equal(tables.TicksOf(f.at).Time()) || was.Device.Tokens != nil ||
		len(was.Pipelines) != 0 {
		t.Errorf("the former tenant sees %+v", was)
	}
	if len(was.Latest) != 2 || was.Latest[1].Sensor != "temperature" || was.Latest[1].Value != 3.0 {
		t.Errorf("the last values are %+v", was.Latest)
	}
	is := answer[model.DeviceAnswer](t, f.current, "/v1/devices/d0000")
	if is.Device.Status != "active" || is.Device.Until != nil || is.Device.Tenant != "fabrikam" || len(is.Latest) != 2 {
		t.Errorf("the tenant sees %+v", is)
	}
	page := f.former.get("/devices/d0000")
	body := page.Body.String()
	if page.Code != http.StatusOK || !strings.Contains(body, "This device has belonged to another tenant since") ||
		!strings.Contains(body, "early") || strings.Contains(body, "recent") || strings.Contains(body, "fabrikam") ||
		strings.Contains(body, "Revoke…") || strings.Contains(body, "Send a command…") {
		t.Errorf("its page is %d %s", page.Code, body)
	}
	if body := f.current.get("/devices/d0000").Body.String(); !strings.Contains(body, "recent") ||
		strings.Contains(body, "early") || strings.Contains(body, "contoso") {
		t.Errorf("the page of the tenant is %s", body)
	}
	for _, v := range []visitor{f.former, f.current} {
		list := answer[model.DeviceList](t, v, "/v1/devices?text=d0000")
		if has := len(list.Devices) > 0; has != (v == f.current) {
			t.Errorf("the list has it: %v", has)
		}
	}
	for _, target := range []string{"/devices/d0000/revoke", "/devices/d0000/command", "/v1/devices/d0000/commands",
		"/v1/devices/d0000/stream"} {
		if w := f.former.get(target); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d for the former tenant", target, w.Code)
		}
	}
	for _, target := range []string{"/v1/devices/d0000", "/v1/devices/d0000/readings",
		"/v1/devices/d0000/series"} {
		wantProblem(t, target, f.none.get(target), api.NotFound)
	}
}

// TestIncidentsStayWithTheTenantTheyAreOf: the former tenant finds those of its time, and operators of all tenants find
// both.
func TestIncidentsStayWithTheTenantTheyAreOf(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f := newMoved(t)
	all := f.signIn(t, f.add(t, "root", schema.Operator, ""))
	for rule, owner := range map[string]visitor{"early": f.former, "recent": f.current} {
		list := answer[model.Incidents](t, owner, "/v1/incidents?from=-24h")
		if len(list.Rows) != 1 || list.Rows[0].Rule != rule {
			t.Fatalf("the incidents of the tenant are %+v, want %s", list.Rows, rule)
		}
		target := "/v1/incidents/" + list.Rows[0].ID
		for _, v := range []visitor{f.former, f.current, all, f.none} {
			want := http.StatusNotFound
			if v == owner || v == all {
				want = http.StatusOK
			}
			if w := v.get(target); w.Code != want {
				t.Errorf("%s (%s): %d, want %d", target, rule, w.Code, want)
			}
		}
	}
}

// TestFollowedDeviceThatMovesTellsTheFormerTenantNothing: who follows a device when it moves gets no reading of the new
// tenant, and who sees all tenants gets each.
func TestFollowedDeviceThatMovesTellsTheFormerTenantNothing(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 2, Config{Loopback: true})
	g.run(t, 2)
	devices := g.c.Model.Devices
	former := must.Have(devices.Follow(model.Within(t.Context(), "contoso"), "d0000"))(t)
	all := must.Have(devices.Follow(t.Context(), "d0000"))(t)
	next := func(tenant string, of *model.Follower) []answers.Reading {
		t.Helper()
		devices.Forget("d0000")
		readings, err := of.Next(model.Within(t.Context(), tenant))
		if err != nil && !errors.Is(err, model.ErrUnknown) {
			t.Fatal(err)
		}
		return readings
	}
	g.Send(t, "d0000", time.Now(), map[string]any{"temperature": 1.0})
	if a, b := next("contoso", former), next("", all); len(a) != 1 || len(b) != 1 {
		t.Fatalf("before the move, they see %d and %d readings, want 1", len(a), len(b))
	}
	must.Have(sas.NewRegistry(g.Client, g.Names).Move(t.Context(), sas.Move{Device: "d0000", To: "fabrikam",
		At: tables.TicksOf(time.Now().Add(-time.Second))}))(t)
	g.Send(t, "d0000", time.Now(), map[string]any{"temperature": 2.0})
	if got := next("contoso", former); len(got) != 0 {
		t.Errorf("the former tenant sees %+v", got)
	}
	if got := next("", all); len(got) != 1 {
		t.Errorf("who sees all tenants sees %+v", got)
	}
}

// TestCommandsOfTheFormerTenantStayUnknownToTheNext, which finds those from the move on: by the API as on the page.
func TestCommandsOfTheFormerTenantStayUnknownToTheNext(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	f := newMoved(t)
	to := commands.Of(f.Client, f.Names)
	must.Succeed(t, to.Table.Create(t.Context()))
	sent := func(at time.Time, body string) string {
		c := schema.Command{Device: "d0000", ID: schema.NewCommandID(tables.TicksOf(at), "x"), Body: body, Who: "olga",
			Expires: tables.TicksOf(time.Now().Add(time.Hour))}
		must.Succeed(t, to.Insert(t.Context(), c))
		return string(c.ID)
	}
	before, after := sent(f.at.Add(-time.Minute), `{"door":"vault"}`), sent(f.at.Add(time.Minute), `{"door":"gate"}`)
	const at = "/v1/devices/d0000/commands"
	list := answer[api.Commands](t, f.current, at)
	if len(list.Commands) != 1 || list.Commands[0].ID != after || list.Waiting != 1 {
		t.Errorf("the tenant sees %+v", list)
	}
	if page := f.current.get("/devices/d0000/commands/" + before + "/cancel"); page.Code != http.StatusNotFound {
		t.Errorf("the page of a former command: %d %s", page.Code, page.Body)
	}
	for id, want := range map[string]int{before: http.StatusNotFound, after: http.StatusOK} {
		if w := f.tells("DELETE", at+"/"+id, f.current.token, ""); w.Code != want {
			t.Errorf("canceling %s: %d %s, want %d", id, w.Code, w.Body, want)
		}
	}
}

// TestWhoConfiguredADeviceStaysUnknownToItsNextTenant: it sees the configuration, which the device still has.
func TestWhoConfiguredADeviceStaysUnknownToItsNextTenant(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 2, Config{Loopback: true})
	g.withCommands(t, "d0000")
	g.run(t, 2)
	to := commands.Of(g.Client, g.Names)
	must.Succeed(t, to.Table.Create(t.Context()))
	must.Succeed(t, to.Insert(t.Context(), schema.Command{Device: "d0000", Desired: true, Body: `{"limit":180}`,
		ID:  schema.NewCommandID(tables.TicksOf(time.Now().Add(-time.Hour)), "x"),
		Who: "ann@contoso.example", Expires: tables.MaxTicks}))
	must.Have(sas.NewRegistry(g.Client, g.Names).Move(t.Context(), sas.Move{Device: "d0000", To: "fabrikam"}))(t)
	next := g.signIn(t, g.add(t, "bob", schema.Operator, "fabrikam"))
	for _, page := range []string{"/devices/d0000", "/devices/d0000/desired", "/v1/devices/d0000/desired",
		"/v1/devices/d0000/commands"} {
		w := next.get(page)
		if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, "limit") ||
			strings.Contains(body, "contoso") {
			t.Errorf("%s: %d, with the configuration %t, with who set it %t", page, w.Code,
				strings.Contains(body, "limit"), strings.Contains(body, "contoso"))
		}
	}
}

// TestTenantActsOnNoDeviceThatHasJustMoved: the page of an act was opened before.
func TestTenantActsOnNoDeviceThatHasJustMoved(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 2, Config{Loopback: true})
	g.run(t, 2)
	former := g.signIn(t, g.add(t, "ann", schema.Operator, "contoso"))
	page := once(t, former.get("/devices/d0000/revoke").Body.String())
	must.Have(sas.NewRegistry(g.Client, g.Names).Move(t.Context(), sas.Move{Device: "d0000", To: "fabrikam",
		At: tables.TicksOf(time.Now().Add(-time.Second))}))(t)
	w := former.post("/devices/d0000/revoke", "how", "now", "once", page)
	if is := g.status(t, "d0000"); w.Code != http.StatusNotFound || is != schema.Active {
		t.Errorf("revoking: %d, and the device is %s\n%s", w.Code, is, w.Body)
	}
}
