package query

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A counter counts requests.
type counter struct{ n atomic.Int64 }

func (c *counter) Do(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return http.DefaultClient.Do(r)
}

// TestOneRecordOfARareSensorTakesFewRequests: a page has as many rows as are wanted only where none is left out.
func TestOneRecordOfARareSensorTakesFewRequests(t *testing.T) {
	t.Parallel()
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	through := &counter{}
	client := must.Have(tables.Connect(tables.Config{Account: account, Transport: through}))(t)
	f := Fleet{client, schema.Names{}}
	begin := tables.TicksOf(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC))
	const rows = 40
	fill := func(of *tables.Table, row func(n int) tables.Entity, value tables.Value) {
		must.Succeed(t, of.Create(t.Context()))
		for n := range rows {
			e, name := row(n), "often"
			if n == rows-1 {
				name = "rare"
			}
			e.Set(name, value)
			must.Have(of.Do(t.Context(), tables.Insert(e)))(t)
		}
	}
	fill(client.Table("readings"), func(n int) tables.Entity {
		return tables.Entity{PartitionKey: "pump-7", RowKey: (begin + tables.Ticks(n)).String()}
	}, tables.Double(1))
	fill(f.Outputs().latest(), func(n int) tables.Entity {
		row := schema.LatestRow{Device: schema.DeviceID(fmt.Sprintf("pump-%02d", n))}
		return tables.Entity{PartitionKey: home.String(), RowKey: row.String()}
	}, tables.String(fmt.Sprintf("[%q,1]", begin.String())))
	many := []string{"rare"}
	for n := range mostNamedInFilter {
		many = append(many, fmt.Sprint("other", n))
	}
	m := schema.Member{Tenant: home.Tenant, Month: home.Month, Device: "pump-7", Readings: "readings"}
	for _, sensors := range [][]string{{"rare"}, many} {
		through.n.Store(0)
		q := Question{Scope: ScopeOf(m), Span: Span{To: tables.MaxTicks}, Sensors: sensors, Limit: 1}
		found := 0
		for r, err := range f.Rows().Readings(t.Context(), q) {
			must.Succeed(t, err)
			found += len(r.Values)
		}
		q.Scope = ScopeOfTenant(home.Tenant)
		for n, err := range f.Outputs().Latest(t.Context(), q) {
			must.Succeed(t, err)
			found += len(n.Values)
		}
		if found != 2 || through.n.Load() > 6 {
			t.Errorf("%d sensors: %d values, %d requests", len(sensors), found, through.n.Load())
		}
	}
}
