package model

import (
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
)

// TestARunThatTakesLongIsShown: the last run began 45 minutes ago and is done, and all
// slots since were skipped while it lasted.
func TestARunThatTakesLongIsShown(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	now := time.Now().Truncate(time.Minute)
	slot := func(ago int) tables.Ticks { return tables.TicksOf(now.Add(-time.Duration(ago) * time.Minute)) }
	write := func(e tables.Entity, err error) {
		if err != nil {
			t.Fatal(err)
		}
		f.Write(t, f.Names.Runs(), e)
	}
	write(schema.Run{Pipeline: "live", Slot: slot(45), Enqueued: slot(45), Started: slot(44)}.Entity())
	write(schema.WorkerFigures{Pipeline: "live", Slot: slot(45), Worker: "tester", First: slot(45), Last: slot(1),
		Jobs: map[string]int64{"master done": 1}}.Entity())
	for ago := 44; ago > 0; ago-- {
		write(schema.Run{Pipeline: "live", Slot: slot(ago), Skipped: "the last run is not done"}.Entity())
	}
	s := over(t, f)
	a, _, err := s.Pipelines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	live := a.Pipelines[0]
	if last := live.Runs[len(live.Runs)-1]; !last.Done || live.LagSeconds == nil || len(live.Workers) != 1 {
		t.Errorf("%d runs, the oldest %+v, lag %v, workers %v", len(live.Runs), last, live.LagSeconds, live.Workers)
	}
}
