package plan_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs/plan"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// TestPlanReadsNoFiguresOfOtherPartitions: each partition of a large fleet has a plan of its own, so each would read
// what the run before has written of all of them.
func TestPlanReadsNoFiguresOfOtherPartitions(t *testing.T) {
	account := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	names, answered := schema.Names{}, int64(0)
	client := must.Have(tables.Connect(tables.Config{Account: account, Retry: policy.RetryOptions{MaxRetries: -1},
		Transport: faults.Func(func(r *http.Request) (*http.Response, error) {
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err == nil && strings.Contains(r.URL.Path, names.Runs()) {
				answered += resp.ContentLength
			}
			return resp, err
		})}))(t)
	runs := client.Table(names.Runs())
	for _, table := range []*tables.Table{runs, client.Table(names.Fleet()), client.Table(names.Partitions("live"))} {
		must.Succeed(t, table.Create(t.Context()))
	}
	before := tables.TicksOf(time.Now().Add(-time.Minute))
	p := &plan.Planner{Pipeline: "live", Client: client, Names: names, Size: 50, Rests: true}
	month := schema.Month{Year: 2026, Month: time.May, Shard: 50}
	var took []int64
	for shard := range schema.MaxShards {
		f := schema.MonthFigures{Pipeline: "live", Slot: before, Month: month}
		f.Month.Shard = shard
		must.Have(runs.Do(t.Context(), tables.InsertOrReplace(must.Have(f.Entity())(t))))(t)
		if shard == 60 || shard == schema.MaxShards-1 {
			answered = 0
			must.Have(p.Do(t.Context(), plan.Task{First: month, Last: month, Before: before}, nil))(t)
			took = append(took, answered)
		}
	}
	if took[0] != took[1] || took[0] <= 0 {
		t.Errorf("with 61 partitions, the plan of one reads %d bytes; with 100, %d", took[0], took[1])
	}
}
