package jobs_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/jobs/report"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// TestReportsOfManySitesAreWholeWhereverAWorkerDies has a closed bucket whose reports take two transactions, and sends
// them to a queue.
func TestReportsOfManySitesAreWholeWhereverAWorkerDies(t *testing.T) {
	t.Parallel()
	const sites = tables.MaxOps + 20
	w := jobstest.NewWorldSince(t, time.Hour, 1, 1)
	hour := schema.Hour.Start(tables.TicksOf(reportedSince))
	mark := schema.Mark{Month: jobstest.Month, Kind: schema.ReportMark, Tenant: "contoso",
		Read: hour.Add(2 * time.Hour), Name: schema.ReportedBucket{Window: schema.Hour, Start: hour}.String()}
	at := schema.RollupPartition{Tenant: "contoso", Window: schema.Hour, Day: schema.DayOf(hour), Month: jobstest.Month}
	one := rollup.Timed{Aggregate: rollup.Aggregate{Count: 1, Sum: 1, Min: 1, Max: 1, First: 1, Last: 1}, FirstAt: hour,
		LastAt: hour}
	var all []tables.Entity
	for n := range sites {
		row := schema.BucketRow{Bucket: hour, Device: schema.DeviceID(fmt.Sprintf("d%06d", n))}
		e := tables.Entity{PartitionKey: at.String(), RowKey: row.String()}
		e.Set("oil", tables.String(one.String()))
		e.Set(schema.SiteProperty, tables.String(fmt.Sprint("site ", n)))
		all = append(all, e)
	}
	for n, died := 0, true; died; n++ {
		f := w.NewFleet(t)
		w.Create(t, f.Names.Reports())
		client := w.Connect(t, nil)
		jobstest.Insert(t, client.Table(f.Names.Output(rollup.BucketsTable)), all...)
		queue := &reportQueue{}
		reports := report.Reports{Client: client, Names: f.Names, Windows: []schema.Window{schema.Hour},
			By: []schema.By{schema.BySite}, Queue: "reports", Enqueue: func(_ context.Context, _, text string) error {
				queue.messages = append(queue.messages, text)
				return nil
			}}
		died = false
		dies := reports
		dies.Client = w.Connect(t, stopAt(n, false, func() error {
			died = true
			return context.Canceled
		}))
		_ = dies.Make(t.Context(), []schema.Mark{mark})
		must.Succeed(t, reports.Make(t.Context(), []schema.Mark{mark}))
		found := 0
		q := query.ReportQuestion{Tenant: "contoso", By: schema.BySite, Window: schema.Hour,
			Span: query.Span{From: hour, To: hour + 1}}
		for r, err := range (query.Fleet{Tables: client, Names: f.Names}).Reports().List(t.Context(), q) {
			must.Succeed(t, err)
			found += int(r.Devices)
		}
		if found != sites {
			t.Errorf("a worker died before its operation %d: reports of %d sites, want %d", n, found, sites)
		}
		if !died && n < 4 {
			t.Errorf("%d operations write two transactions", n)
		}
	}
}
