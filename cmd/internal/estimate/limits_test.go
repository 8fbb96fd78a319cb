package estimate

import (
	"math"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/limits"
)

// TestEstimateAgreesWithStatusOnPartitions: of runs in which all devices have a new reading, it says of the tracking
// table what status says once they are done. A cadence of seconds comes close to the limit where one of a minute does
// not.
func TestEstimateAgreesWithStatusOnPartitions(t *testing.T) {
	t.Parallel()
	for cadence, closes := range map[time.Duration]bool{time.Minute: false, 10 * time.Second: true} {
		c := minutely(t)
		c.Pipelines[0].Cadence = cadence
		e := must.Have(Of(Fleet{Devices: 10_000, Every: 10 * time.Second, AtOnce: 1, Sensors: 1, Tenants: 1, Months: 1,
			Token: time.Hour}, c))(t)
		devices, partitions := int64(e.Devices), int64(e.Partitions)
		run := worker.RunFigures{Run: schema.Run{Pipeline: "live", Slot: tables.TicksOf(time.Unix(0, 0))}}
		for shard := range e.Partitions {
			run.AddMonth(schema.MonthFigures{Devices: devices / partitions, Batches: 1,
				Month: schema.Month{Year: 2026, Month: 11, Shard: shard}})
		}
		run.Workers = schema.WorkerFigures{Months: partitions, Devices: devices, Folded: devices,
			Jobs: map[string]int64{"master done": 1, "month done": partitions, "device done": partitions}}
		want, found := limits.Of([]worker.RunFigures{run}, cadence).Entities, false
		for _, l := range e.Limits {
			if strings.Contains(l.What, "partition of a pipeline") {
				found = math.Abs(l.Used-want) < 1e-6*want && l.Close == closes && (l.ToDo != "") == closes
			}
		}
		if !found || want == 0 {
			t.Errorf("a cadence of %v: status says %.0f entities a second, the estimate %+v", cadence, want, e.Limits)
		}
	}
}
