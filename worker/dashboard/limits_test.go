package dashboard

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/model/modeltest"
)

// TestLimitsSayWhatTheFleetNeeds after a run of 20,000 devices in one partition.
func TestLimitsSayWhatTheFleetNeeds(t *testing.T) {
	t.Parallel()
	fleet := modeltest.New(t, azuretest.Local(t))
	slot := tables.TicksOf(time.Now().Truncate(time.Minute))
	month := schema.MonthFigures{Pipeline: "live", Slot: slot, Devices: 20_000, Batches: 1,
		Month: schema.Month{Year: 2026, Month: 9}}
	did := schema.WorkerFigures{Pipeline: "live", Slot: slot, Worker: "w1", Devices: 20_000, Folded: 20_000, Months: 1,
		Jobs:       map[string]int64{"master done": 1, "month done": 1, "device done": 1},
		Operations: map[string]int64{"tables query": 30_000, "queues put": 750, "queues delete": 750}}
	for _, row := range []tables.Entity{must.Have(month.Entity())(t), must.Have(did.Entity())(t)} {
		must.Have(fleet.Client.Table(fleet.Names.Runs()).Do(t.Context(), tables.InsertOrReplace(row)))(t)
	}
	f := over(t, fleet, Config{Loopback: true})
	var answer model.PipelinesAnswer
	must.Succeed(t, json.Unmarshal(f.get("/v1/pipelines").Body.Bytes(), &answer))
	if all := answer.Limits; len(all) != 3 || all[0].Share != 1 || !all[0].Close || all[0].Most != 2000 ||
		all[1].Share != 0.025 || all[2].Close || all[2].Most != 20_000 {
		t.Errorf("%+v", all)
	}
	page := f.get("/limits").Body.String()
	for _, part := range []string{`href="/limits" aria-current="page"`, `<td class="n">2 000</td><td class="n">2 000</td>` +
		`<td class="n"><span class="chip held">100 %</span></td>`, "Raise the cadence", `<td class="n">50</td>`} {
		if !strings.Contains(strings.ReplaceAll(page, "\u202f", " "), part) {
			t.Errorf("the page lacks %s: %s", part, page)
		}
	}
	if !strings.Contains(f.get("/pipelines").Body.String(), `href="/limits"`) {
		t.Error("Pipelines does not lead to the limits")
	}
}
