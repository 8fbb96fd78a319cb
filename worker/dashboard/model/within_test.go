package model

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
	"furrow/worker/query"
)

// TestOtherTenantsAreUnknown asks about another tenant and its devices, before and after somebody who sees all tenants
// has asked, and compares the errors and the operations with those for an unknown name.
func TestOtherTenantsAreUnknown(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Grow(t, 6) // devices with odd numbers are fabrikam's
	s := over(t, f)
	look(t, s)
	only := Within(t.Context(), "contoso")
	series := func(ctx context.Context, id string) error {
		_, err := s.Charts.Series(ctx, SeriesQuery{Device: id, From: time.Now().Add(-time.Hour), To: time.Now()})
		return err
	}
	device := func(ctx context.Context, id string) error { _, err := s.Devices.Device(ctx, id); return err }
	tenant := func(ctx context.Context, name string) error { _, err := s.Tenants.Tenant(ctx, name); return err }
	day := func(ctx context.Context, name string) error {
		_, err := s.Charts.Day(ctx, DayQuery{Tenant: name})
		return err
	}
	for _, c := range []struct {
		what              string
		ask               func(context.Context, string) error
		own, other, third string
	}{
		{"device", device, "d0000", "d0001", "d9999"},
		{"series", series, "d0000", "d0001", "d9999"},
		{"tenant", tenant, "contoso", "fabrikam", "nobody"},
		{"day", day, "contoso", "fabrikam", "nobody"},
	} {
		for range 2 {
			f.Requests()
			errThird := c.ask(only, c.third)
			want := f.Requests()
			errOther := c.ask(only, c.other)
			if got := f.Requests(); got != want || !errors.Is(errOther, ErrUnknown) || !errors.Is(errThird, ErrUnknown) {
				t.Errorf("%s %s: %v and %d requests; %s: %v and %d", c.what, c.other, errOther, got, c.third, errThird, want)
			}
			if err := errors.Join(c.ask(only, c.own), c.ask(t.Context(), c.other)); err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
		}
	}
}

func TestListsAndMapsHaveOnlyTheOwnTenant(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Grow(t, 6)
	s := over(t, f)
	look(t, s)
	only := Within(t.Context(), "contoso")
	for asked, want := range map[string]int{"": 3, "contoso": 3, "fabrikam": 0, "nobody": 0} {
		of := Filter{Tenant: asked}
		if want == 0 {
			if _, _, err := s.Maps.Live(only, MapQuery{Filter: of}); !errors.Is(err, ErrUnknown) {
				t.Errorf("tenant %q: %v", asked, err)
			}
			continue
		}
		m, err := s.Maps.Map(only, MapQuery{Filter: of})
		list, errList := s.Lists.Devices(only, ListQuery{Filter: of})
		live, first, errLive := s.Maps.Live(only, MapQuery{Filter: of})
		must.Succeed(t, errors.Join(err, errList, errLive))
		if seen, err := s.Maps.Overview(only, of); err != nil || seen.Devices != want || seen.LagSeconds != nil {
			t.Errorf("tenant %q: the overview has %+v, %v", asked, seen, err)
		}
		change, _, _ := live.Next(t.Context())
		if m.Total != want || list.Total != want || len(list.Devices) != want || first.Total != want || change.Total != want {
			t.Errorf("tenant %q: %d on the map, %d listed, %d in the stream, %d after it; want %d", asked, m.Total, list.Total,
				first.Total, change.Total, want)
		}
		if sensors, err := s.Sensors.List(only, asked); err != nil || len(sensors.Sensors) > 0 != (want > 0) ||
			len(s.Sensors.OfTenant(only, asked)) != len(sensors.Sensors) {
			t.Errorf("tenant %q: sensors %+v, %v", asked, sensors, err)
		}
	}
	tenants, err := s.Tenants.List(only, "", 0)
	if err != nil || tenants.Total != 1 || len(tenants.Tenants) != 1 || tenants.Tenants[0].Tenant != "contoso" {
		t.Errorf("the tenants are %+v, %v", tenants, err)
	}
	if names := s.Tenants.Names(only); len(names) != 1 || names[0] != "contoso" {
		t.Errorf("the tenants to choose from are %q", names)
	}
	if _, err := s.Pipelines.All(only); !errors.Is(err, ErrUnknown) {
		t.Errorf("pipelines, which are about all tenants: %v", err)
	}
}

// TestDeviceThatMovedShowsNoIncidentOfItsFormerTenant, which stays open until a run closes it.
func TestDeviceThatMovedShowsNoIncidentOfItsFormerTenant(t *testing.T) {
	x, month := newIndex(newAccount(0, Account{})), schema.Month{Year: 2026, Month: 11}
	at := func(tenant schema.Tenant) schema.Device {
		return schema.Device{ID: "d1", Tenant: tenant, Month: month, Status: schema.Active}
	}
	shown := func() (s uint8) {
		x.look("d1", func(d *device) { s = severityIn(d.flags) })
		return s
	}
	melt := query.Incident{Transition: schema.Transition{ID: schema.IncidentID{Device: "d1"}, Severity: "critical"}}
	open := &openSet{of: map[tenantIn]*tenantOpen{
		{"contoso", 0}: {OpenIndex: query.OpenIndex{Open: []query.Incident{melt}}}}}
	x.records(0, []schema.Device{at("contoso")})
	if x.incidents(open.severities()); shown() != severityOf("critical") {
		t.Errorf("before the move, the device shows severity %d", shown())
	}
	if x.records(0, []schema.Device{at("fabrikam")}); shown() != 0 {
		t.Errorf("after the move, the device shows severity %d", shown())
	}
	if x.incidents(open.severities()); shown() != 0 {
		t.Errorf("at the next poll, the device shows severity %d", shown())
	}
}

// TestNumbersOfTenantsDoNotRunOut: where a number stands for two tenants, each sees the devices of the other.
func TestNumbersOfTenantsDoNotRunOut(t *testing.T) {
	x, month := newIndex(newAccount(0, Account{})), schema.Month{Year: 2026, Month: 11}
	const tenants = 1<<16 + 1
	for i := range tenants {
		id, tenant := schema.DeviceID(deviceID(i)), schema.Tenant(fmt.Sprint("t", i))
		x.add(0, schema.Member{Device: id, Tenant: tenant, Month: month})
	}
	for _, i := range []int{0, 1<<16 - 1, 1 << 16} {
		if n := x.total(fmt.Sprint("t", i)); n != 1 {
			t.Errorf("tenant %d has %d devices, want 1", i, n)
		}
	}
}
