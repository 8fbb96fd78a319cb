package query

import (
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestMutesThatEndedLongAgoGo when another one of their tenant is added.
func TestMutesThatEndedLongAgoGo(t *testing.T) {
	f := newIncidents(t)
	now := tables.TicksOf(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC))
	add := func(id string, tenant schema.Tenant, from, until tables.Ticks) {
		t.Helper()
		must.Succeed(t, f.AddMute(t.Context(), schema.Mute{ID: id, Tenant: tenant, From: from, Until: until}))
	}
	add("old", "contoso", now.Add(-92*24*time.Hour), now.Add(-91*24*time.Hour))
	add("other", "fabrikam", now.Add(-92*24*time.Hour), now.Add(-91*24*time.Hour))
	add("late", "contoso", now.Add(-2*24*time.Hour), now.Add(-24*time.Hour))
	add("new", "contoso", now, now.Add(time.Hour))
	left := map[string]bool{}
	for _, tenant := range []schema.Tenant{"contoso", "fabrikam"} {
		for _, m := range must.Have(Collect(f.mutesOf(t.Context(), tenant), nil))(t) {
			left[m.ID] = true
		}
	}
	if len(left) != 3 || left["old"] {
		t.Errorf("left are %v; want all but the old one", left)
	}
}
