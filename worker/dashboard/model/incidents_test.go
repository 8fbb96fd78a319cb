package model

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs/rules"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
	"furrow/worker/query"
)

// TestStreamClosesAnIncidentWhenItHasClosed, and not when a filter no longer selects its device.
func TestStreamClosesAnIncidentWhenItHasClosed(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "pump-7", Site: "north"})
	s := over(t, f)
	look(t, s)
	live, _, err := s.Maps.Live(t.Context(), MapQuery{Filter: Filter{Site: "north"}})
	must.Succeed(t, err)
	live.NextIncidents()
	one := f.Opens(t, "hot", "pump-7", time.Now().Add(-time.Hour), "critical")
	for _, step := range []struct {
		site schema.Site
		want string
	}{{"north", "opened open"}, {"south", ""}, {"north", ""}, {"south", "closed closed"}} {
		d := f.Devices[0]
		d.Site = step.site
		f.Write(t, f.Names.Devices(), must.Have(d.Entity())(t))
		if step.want == "closed closed" {
			f.Closes(t, one, time.Now())
		}
		must.Succeed(t, s.Accounts.all[0].poller.allRecords(t.Context()))
		s.Incidents.Forget(query.Incident{Transition: one})
		look(t, s)
		var told []string
		for _, c := range live.NextIncidents() {
			told = append(told, c.What+" "+c.Incident.State)
		}
		if got := strings.Join(told, ", "); got != step.want {
			t.Errorf("when the device is at %s, the stream says %q; want %q", step.site, got, step.want)
		}
	}
}

// TestFirstPollFindsTheOpenIncidentsOfAllTenants: the overview would show none of the others. Later polls read a few
// tenants each.
func TestFirstPollFindsTheOpenIncidentsOfAllTenants(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	const tenants = 25
	for i := range tenants {
		id := schema.DeviceID(fmt.Sprint("pump-", i))
		f.Add(t, schema.Device{ID: id, Tenant: schema.Tenant(fmt.Sprint("t", i))})
		f.Opens(t, "hot", id, time.Now().Add(-time.Hour), "critical")
	}
	s := over(t, f)
	look(t, s)
	if n := s.Incidents.countOpen(Filter{}).Critical; n != tenants {
		t.Errorf("%d open incidents after the first poll, want %d", n, tenants)
	}
	if due := s.Incidents.open.due(s.Accounts.index.tenantsIn(0), 0); len(due) != openTenants {
		t.Errorf("the next poll reads %d tenants, want %d", len(due), openTenants)
	}
}

// TestIncidentsOfATenantThatCannotBeReadHideNoOthers: each poll would begin with them again.
func TestIncidentsOfATenantThatCannotBeReadHideNoOthers(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	const tenants = 2 * polledParts
	for i := range tenants {
		id := schema.DeviceID(fmt.Sprint("pump-", i))
		f.Add(t, schema.Device{ID: id, Tenant: schema.Tenant(fmt.Sprint("tenant-", i))})
		f.Opens(t, "hot", id, time.Now().Add(-time.Hour), "critical")
	}
	f.Refuses = func(r *http.Request) bool {
		return strings.Contains(r.URL.Path, f.Names.Output(rules.Table)) && strings.Contains(r.URL.RawQuery, "tenant-0")
	}
	s := over(t, f)
	poller := s.Accounts.all[0].poller
	must.Succeed(t, poller.allRecords(t.Context()))
	err := poller.incidents(t.Context())
	if n := s.Incidents.countOpen(Filter{}).Critical; n != tenants-1 || err == nil {
		t.Errorf("%d open incidents of %d are found, with the error %v", n, tenants-1, err)
	}
}

// TestClosedIncidentsOfAMovedDeviceAreFoundByIt in the tenant that they are of.
func TestClosedIncidentsOfAMovedDeviceAreFoundByIt(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "pump-7"})
	at := time.Now().Add(-time.Hour)
	f.Closes(t, f.Opens(t, "hot", "pump-7", at, "warning"), at.Add(time.Minute))
	d := f.Devices[0]
	d.Former, d.Tenant = []schema.Tenant{d.Tenant}, "fabrikam"
	f.Write(t, f.Names.Devices(), must.Have(d.Entity())(t))
	s := over(t, f)
	look(t, s)
	for tenant, want := range map[string]int{"": 1, string(d.Former[0]): 1, "fabrikam": 0} {
		q := IncidentQuery{Device: "pump-7", States: []string{query.IncidentClosed}, Part: Part{Limit: 10}}
		q.Tenant = tenant
		if list := must.Have(s.Incidents.ListPart(t.Context(), q))(t); len(list.Rows) != want {
			t.Errorf("of tenant %q: %d incidents, want %d", tenant, len(list.Rows), want)
		}
	}
}
