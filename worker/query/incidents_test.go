package query

import (
	"fmt"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

var home = schema.LatestPartition{Tenant: "contoso", Month: schema.Month{Year: 2026, Month: 11}}

// newIncidents returns those of a fleet without any.
func newIncidents(t *testing.T) Incidents {
	t.Helper()
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	client := must.Have(tables.Connect(tables.Config{Account: account}))(t)
	f := Fleet{client, must.Have(schema.ParseNames("fleet"))(t)}.Incidents()
	must.Succeed(t, f.table().Create(t.Context()))
	return f
}

// opened returns the opening of an incident, some ticks after the first one.
func opened(after tables.Ticks) schema.Transition {
	at := after + tables.TicksOf(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC))
	return schema.Transition{Home: home, ID: schema.IncidentID{Rule: "hot", Device: "pump-7", First: at}, Number: 1,
		What: schema.Opened, At: at, Severity: "warning"}
}

// TestIncidentWithoutRowsStopsNoList: its job has written the index of open incidents, and died or comes to the rows.
func TestIncidentWithoutRowsStopsNoList(t *testing.T) {
	f := newIncidents(t)
	for n := range tables.Ticks(3) {
		must.Have(f.table().Do(t.Context(), tables.Insert(opened(n).IndexEntity())))(t)
		if n != 1 {
			must.Have(f.table().Do(t.Context(), tables.Insert(opened(n).Entity())))(t)
		}
	}
	ask := IncidentSelector{Tenant: home.Tenant, States: []string{IncidentOpen}}
	all, err := Collect(f.List(t.Context(), ask), nil)
	if err != nil || len(all) != 2 || all[0].ID != opened(2).ID || all[1].ID != opened(0).ID {
		t.Errorf("%s, %v", fmt.Sprint(all), err)
	}
}

// TestIncidentsOfAMovedDeviceAreFoundByIt in the tenant that they are of.
func TestIncidentsOfAMovedDeviceAreFoundByIt(t *testing.T) {
	f := newIncidents(t)
	d := schema.Device{ID: "pump-7", Month: home.Month, Tenant: "fabrikam", Former: []schema.Tenant{"contoso"},
		Readings: "readings", Status: schema.Active}
	devices := f.Tables.Table(f.Names.Devices())
	must.Succeed(t, devices.Create(t.Context()))
	must.Have(devices.Do(t.Context(), tables.Insert(must.Have(d.Entity())(t))))(t)
	one := opened(0)
	must.Have(f.table().Do(t.Context(), tables.Insert(one.Entity())))(t)
	for tenant, want := range map[schema.Tenant]int{"": 1, "contoso": 1, "fabrikam": 0} {
		all, err := Collect(f.List(t.Context(), IncidentSelector{Tenant: tenant, Device: d.ID}), nil)
		if err != nil || len(all) != want {
			t.Errorf("of tenant %q: %d incidents, %v; want %d", tenant, len(all), err, want)
		}
	}
	if i, err := f.Named(t.Context(), one.ID); err != nil || i.Home != home {
		t.Errorf("%+v, %v", i.Home, err)
	}
}

// TestADeviceThatLeavesHasNoOpenIncidents, of its former tenants neither: their rules may be configured no more.
func TestADeviceThatLeavesHasNoOpenIncidents(t *testing.T) {
	f := newIncidents(t)
	for _, e := range []tables.Entity{opened(0).IndexEntity(), opened(0).Entity()} {
		must.Have(f.table().Do(t.Context(), tables.Insert(e)))(t)
	}
	d := schema.Device{ID: "pump-7", Month: home.Month, Tenant: "fabrikam", Former: []schema.Tenant{"contoso"}}
	closed, err := f.Close(t.Context(), d)
	ask := IncidentSelector{Tenant: "contoso", States: []string{IncidentOpen}}
	left, again := Collect(f.List(t.Context(), ask), nil)
	if closed != 1 || err != nil || len(left) > 0 || again != nil {
		t.Errorf("%d closed, %v; left are %+v, %v", closed, err, left, again)
	}
}
