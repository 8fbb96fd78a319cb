package limits_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/limits"
)

// run is one that is done, of devices with a reading each in two partitions of different size.
func run(slot time.Time, devices int64) worker.RunFigures {
	r := worker.RunFigures{Run: schema.Run{Pipeline: "live", Slot: tables.TicksOf(slot)}}
	for shard, n := range []int64{devices / 5 * 4, devices / 5} {
		r.AddMonth(schema.MonthFigures{Devices: n, Batches: 1, Month: schema.Month{Year: 2026, Month: 11, Shard: shard}})
	}
	r.Workers = schema.WorkerFigures{Months: 2, Devices: devices, Folded: devices / 2, Rows: 6 * devices,
		Jobs:       map[string]int64{"master done": 1, "month done": 2, "device done": 2},
		Operations: map[string]int64{"tables query": 9 * devices, "queues put": 300, "queues delete": 300, "queues get": 60}}
	return r
}

func TestLoadIsTheAverageOfRunsThatAreDone(t *testing.T) {
	start := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	unfinished, byHand := run(start.Add(4*time.Minute), 1000), run(start.Add(-time.Hour), 1000)
	unfinished.Workers.Jobs["device done"] = 1
	byHand.Months = schema.MonthFigures{Audits: 1}
	runs := []worker.RunFigures{byHand, run(start, 1000), run(start.Add(time.Minute), 3000),
		run(start.Add(3*time.Minute), 2000), unfinished} // a slot was skipped
	got := fmt.Sprintf("%.2f", limits.Of(runs, time.Minute))
	// 6,000 devices in four minutes; two of them are for work.
	const want = "{466.50 150.00 80.00 15.00}"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if l := limits.Of([]worker.RunFigures{unfinished}, time.Minute); l != (limits.Load{}) {
		t.Errorf("without a run that is done: %+v", l)
	}
}

func TestPipelinesShareTheAccountAndTheReadings(t *testing.T) {
	share := limits.AccountShare([]limits.Load{{Requests: 6000, Readings: 4000}, {Requests: 3000, Readings: 5000}})
	if math.Abs(share-0.7) > 1e-9 || !limits.Close(share) || limits.Close(0.69) {
		t.Errorf("the share is %v", share)
	}
	if l := limits.New("a", 0.5, 2000, "less"); l.Close || l.ToDo != "" {
		t.Errorf("%+v", l)
	}
	if l := (limits.Load{Entities: 1500, Messages: 500}); l.PartitionShare() != 0.75 || l.QueueShare() != 0.25 {
		t.Errorf("%v, %v", l.PartitionShare(), l.QueueShare())
	}
}
