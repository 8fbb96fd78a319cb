package model

import (
	"maps"
	"runtime"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
	"furrow/worker/query"
)

// TestTheIndexTakesFewBytesOfADevice holds the figure in the table "What each device costs" of reference/limits.md.
func TestTheIndexTakesFewBytesOfADevice(t *testing.T) {
	const devices, most = 10_000, 300
	used := func() float64 {
		runtime.GC()
		runtime.GC() // and what the first has freed
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := used()
	s := crowd(seeded(t), devices)
	each := (used() - before) / devices
	runtime.KeepAlive(s)
	if t.Logf("%.0f bytes", each); each > most {
		t.Errorf("%.0f bytes for each device; want at most %d", each, most)
	}
}

// TestPagesOfManyDevicesAskNothingOfStorage, as the same table says: the index has what they show.
func TestPagesOfManyDevicesAskNothingOfStorage(t *testing.T) {
	t.Parallel()
	const devices = 200
	f := modeltest.New(t, azuretest.Local(t))
	f.Grow(t, devices)
	s := over(t, f)
	f.Requests()
	if look(t, s); f.Requests() > devices/10 {
		t.Error("the index takes more than a request for each ten devices")
	}
	if look(t, s); f.Requests() > 1 {
		t.Error("a poll with nothing new takes more than one request")
	}
	for name, ask := range map[string]func() error{
		"a list": func() error { _, err := s.Lists.Devices(t.Context(), ListQuery{}); return err },
		"a search": func() error {
			_, err := s.Lists.Devices(t.Context(), ListQuery{Filter: Filter{Text: "d00"}})
			return err
		},
		"the map":      func() error { s.Maps.mapAt(MapQuery{Zoom: 4}, time.Now()); return nil },
		"the overview": func() error { _, err := s.Maps.Overview(t.Context(), Filter{}); return err },
	} {
		must.Succeed(t, ask())
		if n := f.Requests(); n > 0 {
			t.Errorf("%s takes %d requests", name, n)
		}
	}
}

// TestAFleetOfAnySizeIsAskedWithAsFewRequests, as reference/limits.md says below the table: its status, its costs and
// the reports of a tenant.
func TestAFleetOfAnySizeIsAskedWithAsFewRequests(t *testing.T) {
	t.Parallel()
	const tenants, months = 2, 3 // of a fixture that grows
	now := time.Now()
	few, many := asked(t, 12, now), asked(t, 300, now)
	if !maps.Equal(few, many) {
		t.Errorf("12 devices take %v, 300 take %v", few, many)
	}
	t.Log(many)
	periods := 2 // what is asked for may reach back into another month or year
	reports := periods * (2*months + 1)
	if many["status"] != 7 || many["cost"] > 3+tenants*(1+reports) || many["reports"] > reports {
		t.Errorf("%v is not what is documented", many)
	}
}

// asked returns how many requests the questions about a fleet as a whole take.
func asked(t *testing.T, devices int, now time.Time) map[string]int {
	t.Helper()
	f := modeltest.New(t, azuretest.Local(t))
	f.Grow(t, devices)
	today := schema.DayOf(tables.TicksOf(now))
	for _, tenant := range []schema.Tenant{"", "contoso", "fabrikam"} {
		f.Write(t, f.Names.Runs(), schema.TenantDevices{Day: today, Tenant: tenant, Devices: int64(devices)}.Entity())
	}
	client, queues := f.Readers(t, nil, nil)
	fleet := query.Fleet{Tables: client, Names: f.Names}
	requests := map[string]int{}
	for name, ask := range map[string]func(){
		"status": func() {
			p := fleet.Progress()
			must.Have(p.Status(t.Context(), "live", time.Minute, queues.Queue(f.Names, "live"), query.RecentRuns))(t)
			must.Have(p.Audited(t.Context(), "live"))(t)
			must.Have(p.Unheard(t.Context(), "live", now.Add(-24*time.Hour)))(t)
		},
		"cost": func() {
			costs := must.Have(fleet.Reports().Costs(t.Context(), query.CostQuestion{From: today - 30, To: today,
				Window: schema.Daily, Pipelines: []schema.Pipeline{"live"}}, &query.Skipped{}))(t)
			if len(costs.Tenants) != 2 {
				t.Errorf("costs of %v", costs.Tenants)
			}
		},
		"reports": func() {
			most := int64(0)
			for r, err := range fleet.Reports().List(t.Context(), query.ReportQuestion{Tenant: "contoso",
				By: schema.ByTenant, Window: schema.Hour,
				Span: query.Span{From: tables.TicksOf(now.Add(-6 * time.Hour)), To: tables.TicksOf(now)}}) {
				must.Succeed(t, err)
				most = max(most, r.Devices)
			}
			if most != int64(devices/2) {
				t.Errorf("%d devices of %d in reports of one of two tenants", most, devices)
			}
		},
	} {
		f.Requests()
		ask()
		requests[name] = f.Requests()
	}
	return requests
}
