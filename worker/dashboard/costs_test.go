package dashboard

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/cost"
)

// TestTenantsSeeTheirOwnCostsAlone has two tenants with three readings of each device, and runs of today.
func TestTenantsSeeTheirOwnCostsAlone(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 8, Config{Loopback: true})
	now := time.Now()
	g.run(t, 8)
	runs := worker.Runs{Table: g.Client.Table(g.Names.Runs())}
	today := schema.DayOf(tables.TicksOf(now))
	spent := schema.Spending{Pipeline: "live", Day: today, From: today.Start(), Through: today.Start() + 1,
		Operations: map[string]int64{"tables query": 800, "queues put": 16}}
	must.Have(runs.Table.Do(t.Context(), tables.InsertOrReplace(spent.Entity())))(t)
	must.Succeed(t, runs.CountTenantDevices(t.Context(), g.Client.Table(g.Names.Fleet()), now))
	ask := func(v visitor, target string) (code int, costs cost.Costs) {
		code, body, _ := v.ask(http.MethodGet, target, "")
		if code == http.StatusOK {
			must.Succeed(t, json.Unmarshal([]byte(body), &costs))
		}
		return code, costs
	}
	operator := g.signIn(t, g.add(t, "root", schema.Operator, ""))
	contoso := g.signIn(t, g.add(t, "contoso-admin", schema.Admin, "contoso"))
	_, all := ask(operator, "/v1/costs")
	if len(all.Tenants) != 2 || all.Fleet == nil || all.Fleet.Operations["tables query"] != 800 || all.Through == nil {
		t.Fatalf("%+v", all)
	}
	var own cost.TenantCost
	sum := 0.0
	for _, l := range all.Tenants {
		sum += l.USD.Total
		if l.Tenant == "contoso" {
			own = l
		}
		if l.Devices != 4 || l.Operations["queues put"] != 8 || l.Readings == 0 || l.Bytes == 0 {
			t.Errorf("%+v", l)
		}
	}
	if diff := sum - all.Fleet.USD.Total; diff > 1e-12 || diff < -1e-12 {
		t.Errorf("the tenants cost %v, the fleet %v", sum, all.Fleet.USD.Total)
	}
	for _, target := range []string{"/v1/costs", "/v1/costs?tenant=contoso"} {
		code, seen := ask(contoso, target)
		if code != http.StatusOK || len(seen.Tenants) != 1 || seen.Fleet != nil || seen.Tenants[0].USD != own.USD {
			t.Errorf("%s: %d, %+v, want %+v", target, code, seen, own)
		}
	}
	if code, _ := ask(contoso, "/v1/costs?tenant=fabrikam"); code != http.StatusNotFound {
		t.Errorf("another tenant: %d", code)
	}
	_, days := ask(operator, "/v1/costs?window=1d&tenant=contoso")
	if len(days.Tenants) == 0 || days.Tenants[0].Day == "" {
		t.Errorf("days: %+v", days)
	}
	for target, want := range map[string]int{"/v1/costs?month=2026-1": 400, "/v1/costs?window=1h": 400,
		"/v1/costs?tenant=nobody": 404} {
		if code, _ := ask(operator, target); code != want {
			t.Errorf("%s: %d, want %d", target, code, want)
		}
	}
	for _, page := range []string{"/costs", "/costs?tenant=contoso&window=1d", "/tenants/contoso"} {
		code, body, _ := operator.ask(http.MethodGet, page, "")
		if code != http.StatusOK || !strings.Contains(body, "$") {
			t.Errorf("%s: %d\n%s", page, code, body)
		}
		code, body, _ = contoso.ask(http.MethodGet, page, "")
		if code != http.StatusOK || !strings.Contains(body, "contoso") || !strings.Contains(body, "$") {
			t.Errorf("%s of one tenant: %d\n%s", page, code, body)
		}
		tells(t, page, body)
		if strings.Contains(body, ">$0</a>") {
			t.Errorf("%s tells the cost of another month", page)
		}
	}
}

// TestCostsSayWhatTheyLack: a newer program wrote what the runs of today did.
func TestCostsSayWhatTheyLack(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, 2, Config{Loopback: true})
	today := schema.DayOf(tables.TicksOf(time.Now()))
	e := schema.Spending{Pipeline: "live", Day: today, From: today.Start(), Through: today.Start() + 1}.Entity()
	e.Set("Through", tables.String("{from: the future}"))
	must.Have(g.Client.Table(g.Names.Runs()).Do(t.Context(), tables.InsertOrReplace(e)))(t)
	operator := g.signIn(t, g.add(t, "root", schema.Operator, ""))
	var costs cost.Costs
	_, body, _ := operator.ask(http.MethodGet, "/v1/costs", "")
	must.Succeed(t, json.Unmarshal([]byte(body), &costs))
	if costs.Unreadable != 1 {
		t.Errorf("costs without the row: %s", body)
	}
	if _, page, _ := operator.ask(http.MethodGet, "/costs", ""); !strings.Contains(page, "1\u00a0row could not be read") {
		t.Errorf("the page does not say so: %s", page)
	}
}
