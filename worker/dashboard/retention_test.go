package dashboard

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model"
)

// retaining keeps readings of the tenants of tests for different times.
func retaining() model.Pipeline {
	const day = 24 * time.Hour
	return model.Pipeline{Name: "retention", Cadence: 6 * time.Hour, Keep: []retain.Keep{
		{Match: fold.Match{Site: []string{"vault"}}, Readings: 11 * day},
		{Match: fold.Match{Tenant: []string{"fabrikam"}}, Readings: 12 * day},
		{Match: fold.Match{Tenant: []string{"contoso", "fabrikam"}}, Readings: 13 * day, Activity: 400 * day},
		{Readings: 14 * day, Rollups: map[schema.Window]time.Duration{schema.Minute: 30 * day}}}}
}

// waits has retention note that readings of a device stay for a cause.
func (f *fixture) waits(t testing.TB, d schema.DeviceID, cause string, from time.Time, held string) {
	t.Helper()
	m := f.Devices[slices.IndexFunc(f.Devices, func(one schema.Device) bool { return one.ID == d })].Member()
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	e.Set(schema.TrackWaits, tables.String(cause))
	e.Set(schema.TrackWaitsFrom, tables.Int64(int64(tables.TicksOf(from))))
	if held != "" {
		e.Set(schema.TrackHeld, tables.String(held))
		e.Set(schema.TrackHeldUntil, tables.DateTime(tables.TicksOf(time.Now().Add(time.Hour))))
	}
	must.Have(f.Client.Table(f.Names.Partitions("retention")).Do(t.Context(), tables.InsertOrReplace(e)))(t)
}

// TestTenantsSeeTheirOwnRetentionAlone: those of all see which devices wait, why, and what the configuration keeps.
func TestTenantsSeeTheirOwnRetentionAlone(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 8, Config{Loopback: true})
	g.run(t, 8)
	operator := g.signIn(t, g.add(t, "root", schema.Operator, ""))
	contoso := g.signIn(t, g.add(t, "contoso-admin", schema.Admin, "contoso"))
	ask := func(v visitor, target string) (found model.Retention) {
		t.Helper()
		code, body, _ := v.ask(http.MethodGet, target, "")
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", target, code, body)
		}
		must.Succeed(t, json.Unmarshal([]byte(body), &found))
		return found
	}
	if before := ask(operator, "/v1/retention?tenant=fabrikam"); before.Devices != 0 || len(before.Waiting) > 0 ||
		len(before.Kept) != 2 {
		t.Errorf("before the first job of retention: %+v", before)
	}
	must.Succeed(t, g.Client.Table(g.Names.Partitions("retention")).Create(t.Context()))
	day := schema.DayOf(tables.TicksOf(time.Now())).Start().Time()
	g.waits(t, "d0000", "behind", day.AddDate(0, 0, -20), "")
	g.waits(t, "d0001", "behind", day.AddDate(0, 0, -30), "")
	g.waits(t, "d0002", "", time.Time{}, "storage of d0002 is away")
	g.waits(t, "d0004", "behind", day.AddDate(0, 0, -10), "")
	all, own := ask(operator, "/v1/retention"), ask(contoso, "/v1/retention")
	if all.Devices != 4 || len(all.Waiting) != 2 || all.Waiting[0].Devices != 3 || all.Waiting[0].Device != "d0001" ||
		!all.Waiting[0].From.Equal(day.AddDate(0, 0, -30)) || all.Waiting[1].Cause != "retention" ||
		all.Waiting[1].Reason != "storage of d0002 is away" {
		t.Errorf("all: %+v", all)
	}
	if own.Devices != 3 || len(own.Waiting) != 2 || own.Waiting[0].Devices != 2 || own.Waiting[0].Device != "d0000" ||
		!own.Waiting[0].From.Equal(day.AddDate(0, 0, -20)) || own.Waiting[1].Reason != "" {
		t.Errorf("of one tenant: %+v", own)
	}
	if k := own.Kept; len(k) != 2 || !k[0].Some || k[0].Match != nil || k[1].Some || k[1].Match != nil ||
		k[1].Tables[0].Kept != "13d" || k[1].Tables[1].Kept != "400d" || k[1].Tables[1].Table != "activity" {
		t.Errorf("of one tenant is kept: %+v", k)
	}
	if k := all.Kept; len(k) != 4 || k[0].Match["site"][0] != "vault" || k[3].Some || k[3].Tables[1].Window != "1m" {
		t.Errorf("kept is %+v", k)
	}
	for _, target := range []string{"/retention", "/retention?tenant=contoso", "/tenants/contoso"} {
		_, body, _ := contoso.ask(http.MethodGet, target, "")
		tells(t, target, body)
		if target != "/tenants/contoso" && !strings.Contains(body, "A pipeline has not folded them") ||
			!strings.Contains(body, "/retention") && target == "/tenants/contoso" {
			t.Errorf("%s: %s", target, body)
		}
	}
	if code, _, _ := contoso.ask(http.MethodGet, "/v1/retention?tenant=fabrikam", ""); code != http.StatusNotFound {
		t.Errorf("another tenant: %d", code)
	}
}
