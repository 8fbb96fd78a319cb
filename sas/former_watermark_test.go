package sas_test

import (
	"testing"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestTokensAdmitNoRowBelowAFormerTenantsWatermark: a device has moved 11 days ago. Retention of the former tenant has
// gone on since; the new one keeps all. Then the backfill is raised.
func TestTokensAdmitNoRowBelowAFormerTenantsWatermark(t *testing.T) {
	y := newFixture(t, nil)
	y.mustIssue("pump-7")
	now := time.Now()
	ago := func(d int) tables.Ticks { return tables.TicksOf(now.Add(-time.Duration(d) * 24 * time.Hour)) }
	must.Have(y.registry.Move(t.Context(), sas.Move{Device: "pump-7", To: "northwind", At: ago(11)}))(t)
	device := must.Have(y.registry.Get(t.Context(), "pump-7"))(t)
	former := schema.Member{Month: device.Month, Tenant: "contoso", Device: "pump-7"}
	row := tables.Entity{PartitionKey: former.Month.String(), RowKey: string(former.Key())}
	row.Set(schema.MemberWatermark, tables.Int64(int64(ago(9)))) // retention of contoso has deleted its rows
	must.Have(y.registry.Fleet.Do(t.Context(), tables.Merge(row, tables.AnyETag)))(t)
	y.enrollment.Backfill = 20 * 24 * time.Hour
	a := y.mustIssue("pump-7")
	if a.EarliestRowKey < ago(11) {
		t.Errorf("a token admits rows from %v on: those up to %v are of a former tenant, below its watermark %v",
			a.EarliestRowKey.Time(), ago(11).Time(), ago(9).Time())
	}
}
