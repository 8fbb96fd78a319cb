package model

import (
	"testing"
	"time"

	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
	"furrow/worker/query"
)

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
