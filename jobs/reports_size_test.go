package jobs_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/jobs/report"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/query"
)

var (
	reportedDevices = flag.Int("jobs.reported", 400, "how many devices TestMonthOfHoursIsReadByShards has")
	reportedShards  = flag.Int("jobs.shards", 4, "how many shards they have")
)

// TestMonthOfHoursIsReadByShards makes the reports of an hour of a tenant's devices, and reads a month of such hours.
// What that costs depends on the shards and on the hours, not on the devices.
func TestMonthOfHoursIsReadByShards(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorldSince(t, time.Hour, 1, 1)
	f := w.NewFleet(t)
	w.Create(t, f.Names.Reports())
	client := w.Connect(t, nil)
	hour := schema.Hour.Start(tables.TicksOf(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)))
	began := time.Now()
	each := *reportedDevices / *reportedShards
	for shard := range *reportedShards {
		at := schema.RollupPartition{Tenant: "contoso", Window: schema.Hour, Day: schema.DayOf(hour), Month: inShard(shard)}
		var all []tables.Entity
		for d := range each {
			row := schema.BucketRow{Bucket: hour, Device: schema.DeviceID(fmt.Sprintf("d%02d-%06d", shard, d))}
			e := tables.Entity{PartitionKey: at.String(), RowKey: row.String()}
			n := float64(d)
			e.Set("oil", tables.String(rollup.Timed{Aggregate: rollup.Aggregate{Count: 60, Sum: 60 * n, Min: n, Max: n,
				First: n, Last: n}, FirstAt: hour, LastAt: hour + 1}.String()))
			e.Set(schema.SiteProperty, tables.String(fmt.Sprint("site ", d%10)))
			all = append(all, e)
		}
		jobstest.Insert(t, client.Table(f.Names.Output(rollup.BucketsTable)), all...)
	}
	t.Logf("%d rows of buckets were written in %v", each**reportedShards, time.Since(began).Round(time.Millisecond))

	counted := &faults.Gate{At: -1}
	through := w.Connect(t, counted)
	made := &report.Reports{Client: through, Names: f.Names, Windows: []schema.Window{schema.Hour},
		By: []schema.By{schema.ByTenant, schema.BySite}}
	began = time.Now()
	for shard := range *reportedShards {
		must.Succeed(t, made.Make(t.Context(), []schema.Mark{{Month: inShard(shard), Kind: schema.ReportMark,
			Tenant: "contoso", Name: schema.ReportedBucket{Window: schema.Hour, Start: hour}.String()}}))
	}
	pages := max(1, (each+999)/1000)
	t.Logf("the reports of an hour took %d requests and %v", counted.N.Load(), time.Since(began).Round(time.Millisecond))
	if n, most := int(counted.N.Load()), *reportedShards*(pages+2); n > most {
		t.Errorf("the reports of an hour took %d requests; want at most %d", n, most)
	}

	const hours = 30 * 24
	month(t, client.Table(f.Names.Reports()), hour, hours)
	counted.N.Store(0)
	began = time.Now()
	q := query.ReportQuestion{Tenant: "contoso", By: schema.ByTenant, Window: schema.Hour,
		Span: query.Span{From: hour, To: hour.Add(hours * time.Hour)}}
	found := 0
	for r, err := range (query.Fleet{Tables: through, Names: f.Names}).Reports().List(t.Context(), q) {
		must.Succeed(t, err)
		if found++; r.Devices != int64(each**reportedShards) || r.Sensors[0].Count != 60*r.Devices {
			t.Fatalf("%+v", r)
		}
	}
	n := int(counted.N.Load())
	t.Logf("a month of %d hours of %d devices took %d requests and %v", found, each**reportedShards, n,
		time.Since(began).Round(time.Millisecond))
	if most := 2**reportedShards + 1; found != hours || n > most {
		t.Errorf("a month of %d hours took %d requests; want %d hours and at most %d requests", found, n, hours, most)
	}
}

func inShard(shard int) schema.Month {
	return schema.Month{Year: 2026, Month: time.November, Shard: shard + 1}
}

// month copies the reports of an hour to other hours.
func month(t *testing.T, reports *tables.Table, hour tables.Ticks, hours int) {
	t.Helper()
	rows := map[string][]tables.Entity{}
	q := tables.Query{Range: tables.Range{Rows: schema.ReportRows(schema.ByTenant, "", hour, hour+1)}}
	for _, e := range jobstest.Rows(t, reports, q) {
		for n := 1; n < hours; n++ {
			row := schema.ReportRow{By: schema.ByTenant, Bucket: hour.Add(time.Duration(n) * time.Hour)}
			c := tables.Entity{PartitionKey: e.PartitionKey, RowKey: row.String(), Properties: e.Properties}
			rows[e.PartitionKey] = append(rows[e.PartitionKey], c)
		}
	}
	for _, all := range rows {
		jobstest.Insert(t, reports, all...)
	}
}
