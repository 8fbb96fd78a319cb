package model

import (
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
)

// TestRemovedDeviceIsInNoList: furrow help devices says so. Its outputs stay.
func TestRemovedDeviceIsInNoList(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "pump-7"}, schema.Device{ID: "pump-8"})
	for _, d := range f.Devices {
		f.Send(t, d.ID, time.Now().Add(-time.Minute), map[string]any{"temperature": 1.0})
	}
	f.Fold(t)
	running := over(t, f)
	look(t, running)
	records := func(of *Store) { must.Succeed(t, of.Accounts.all[0].poller.allRecords(t.Context())) }
	mustList := func(when string, s *Store, want string) {
		t.Helper()
		look(t, s)
		list := must.Have(s.Lists.Devices(t.Context(), ListQuery{}))(t)
		var ids []string
		for _, d := range list.Devices {
			ids = append(ids, d.Device)
		}
		n, shown := len(ids), must.Have(s.Maps.Map(t.Context(), MapQuery{}))(t)
		tenants := s.Tenants.tallies(t.Context())
		if got := strings.Join(ids, " "); got != want || shown.Total != n || tenants[0].Devices != n {
			t.Errorf("%s: it lists %s, with %d on the map and %d of the tenant", when, got, shown.Total, tenants[0].Devices)
		}
		at := monthIn{0, f.Devices[0].Month}
		if of := s.Accounts.index.count(at); int(of) != n {
			t.Errorf("%s: %d are of the month", when, of)
		}
	}

	gone := f.Devices[0]
	gone.Status = schema.Removed
	f.Add(t, gone)
	records(running)
	started := over(t, f)
	mustList("a dashboard that was running", running, "pump-8")
	mustList("one that was started afterwards", started, "pump-8")
	rows := must.Have(running.FleetRows.Windows(t.Context(), FleetQuery{Window: "1h",
		From: time.Now().Add(-24 * time.Hour), To: time.Now(), Part: Part{Limit: 10}}))(t)
	n := 0
	for _, err := range rows.Rows {
		must.Succeed(t, err)
		n++
	}
	if n != 2 {
		t.Errorf("%d windows are kept of two devices", n)
	}

	gone.Status = schema.Active
	f.Add(t, gone)
	for _, s := range []*Store{running, started} {
		records(s)
		mustList("after it has registered again", s, "pump-7 pump-8")
	}
	gone.Status = schema.Erased
	f.Add(t, gone)
	records(running)
	mustList("after its data is gone", running, "pump-8")
}

// TestDeviceThatRegistersAgainIsListedAtOnce: its month has more devices than the index, as for a device that is new.
func TestDeviceThatRegistersAgainIsListedAtOnce(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "pump-7"}, schema.Device{ID: "pump-8"})
	f.Fold(t)
	s := over(t, f)
	look(t, s)
	again := f.Devices[0]
	again.Status = schema.Removed
	f.Add(t, again)
	must.Succeed(t, s.Accounts.all[0].poller.allRecords(t.Context()))
	look(t, s) // the newest run has seen both
	f.Devices = f.Devices[1:2]
	f.Fold(t)
	look(t, s)
	again.Status = schema.Active
	f.Add(t, again)
	f.Fold(t)
	look(t, s)
	if list := must.Have(s.Lists.Devices(t.Context(), ListQuery{}))(t); len(list.Devices) != 2 {
		t.Errorf("the list has %+v", list.Devices)
	}
}

// TestWindowsOfFormerTenantsOfARemovedDevice: they stay, as those of the last tenant do.
func TestWindowsOfFormerTenantsOfARemovedDevice(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "pump-7"})
	f.Send(t, "pump-7", time.Now().Add(-time.Minute), map[string]any{"temperature": 1.0})
	f.Fold(t)
	gone := f.Devices[0]
	gone.Tenant, gone.Former, gone.Status = "fabrikam", []schema.Tenant{"contoso"}, schema.Removed
	f.Add(t, gone)
	s := over(t, f)
	look(t, s)
	rows := must.Have(s.FleetRows.Windows(t.Context(), FleetQuery{Window: "1h", From: time.Now().Add(-24 * time.Hour),
		To: time.Now(), Filter: Filter{Tenant: "contoso"}, Part: Part{Limit: 10}}))(t)
	n := 0
	for _, err := range rows.Rows {
		must.Succeed(t, err)
		n++
	}
	if n != 1 {
		t.Errorf("%d windows, want 1", n)
	}
}

// TestRemovedDeviceIsHeldByNoPipeline: its tracking row stays, and nobody tries it again.
func TestRemovedDeviceIsHeldByNoPipeline(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "pump-7", Status: schema.Removed}, schema.Device{ID: "pump-8"})
	s := over(t, f)
	look(t, s)
	x := s.Accounts.index
	var all []schema.Track
	for _, d := range f.Devices {
		all = append(all, schema.Track{Place: d.Member().Place(), Attempts: 1, Reason: "bad row"})
	}
	x.held(monthOf{"live", monthIn{0, f.Devices[0].Month}}, all)
	if held := x.heldOf(0, "live"); len(held) != 1 || held[0].Place.Device() != "pump-8" {
		t.Errorf("it holds %v", held)
	}
}
