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

// TestIncidentWithoutRowsStopsNoList: its job has written the index of open incidents, and died or comes to the rows.
func TestIncidentWithoutRowsStopsNoList(t *testing.T) {
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	client := must.Have(tables.Connect(tables.Config{Account: account}))(t)
	f := Fleet{client, must.Have(schema.ParseNames("fleet"))(t)}.Incidents()
	must.Succeed(t, f.table().Create(t.Context()))
	first := tables.TicksOf(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC))
	home := schema.LatestPartition{Tenant: "contoso", Month: schema.Month{Year: 2026, Month: 11}}
	for n := range tables.Ticks(3) {
		one := schema.Transition{Home: home, ID: schema.IncidentID{Rule: "hot", Device: "pump-7", First: first + n},
			Number: 1, What: schema.Opened, At: first + n, Severity: "warning"}
		must.Have(f.table().Do(t.Context(), tables.Insert(one.IndexEntity())))(t)
		if n != 1 {
			must.Have(f.table().Do(t.Context(), tables.Insert(one.Entity())))(t)
		}
	}
	ask := IncidentSelector{Tenant: "contoso", States: []string{IncidentOpen}}
	all, err := Collect(f.List(t.Context(), ask), nil)
	if err != nil || len(all) != 2 || all[0].ID.First != first+2 || all[1].ID.First != first {
		t.Errorf("%s, %v", fmt.Sprint(all), err)
	}
}
