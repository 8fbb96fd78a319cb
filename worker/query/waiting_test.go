package query

import (
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestOnlyATenantsOwnReadingsWait: a device has moved and is silent since, so no pipeline has a checkpoint for its new
// tenant. Nothing waits that was the former tenant's, or that retention has left below the watermark.
func TestOnlyATenantsOwnReadingsWait(t *testing.T) {
	t.Parallel()
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	client := must.Have(tables.Connect(tables.Config{Account: account}))(t)
	readings := client.Table("readings")
	must.Succeed(t, readings.Create(t.Context()))
	today := tables.TicksOf(time.Now()).Floor(tables.Day)
	for ago := range tables.Ticks(3) {
		e := tables.Entity{PartitionKey: "pump-7", RowKey: (today - (ago+1)*tables.Day).String()}
		must.Have(readings.Do(t.Context(), tables.Insert(e)))(t)
	}
	m := schema.Member{Tenant: "fabrikam", Device: "pump-7", Readings: "readings"}
	for name, c := range map[string]struct {
		from, watermark, want tables.Ticks
	}{
		"all":                 {0, 0, today - 3*tables.Day},
		"since a move":        {today - 2*tables.Day, 0, today - 2*tables.Day},
		"after all readings":  {today, 0, 0},
		"from the watermark":  {0, today - tables.Day, today - tables.Day},
		"above the watermark": {today - 3*tables.Day, today, 0},
	} {
		of := m
		if of.Watermark = c.watermark; c.from > 0 {
			of.Spans = schema.Spans{{From: c.from}}
		}
		progress := Fleet{client, schema.Names{}}.Progress()
		if got := must.Have(progress.Waiting(t.Context(), of, ""))(t); got != c.want {
			t.Errorf("%s: a reading of %v waits, want %v", name, got.Time(), c.want.Time())
		}
	}
}
