package jobs_test

import (
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/schema"
)

func TestFiguresOfOldRunsAreDeleted(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 1)
	f := w.NewFleet(t)
	runs := w.Connect(t, nil).Table(f.Names.Runs())
	w.Create(t, f.Names.Runs())
	now := tables.TicksOf(time.Now().Truncate(time.Minute))
	var old []tables.Entity
	for hour := range 40 {
		for m := range 12 {
			e, err := schema.MonthFigures{Pipeline: "live", Slot: now.Add(-time.Duration(hour) * time.Hour),
				Month: schema.Month{Year: 2025, Month: time.Month(m + 1)}}.Entity()
			jobstest.Must(t, err)
			old = append(old, e)
		}
	}
	jobstest.Insert(t, runs, old...)
	p := f.Pipeline(t, nil)
	r, err := p.Do(t.Context(), jobs.Message{Kind: jobs.Master, Pipeline: "live", Run: now}, &jobstest.Line{}, nil)
	if err != nil || r.Months != 1 || len(r.Failed) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	left := map[tables.Ticks]int{}
	marks := 0
	for _, e := range jobstest.Rows(t, runs, tables.Query{}) {
		if !schema.IsMonthFigures(e) {
			marks++
			continue
		}
		_, slot, err := schema.ParseFiguresPartition(e.PartitionKey)
		jobstest.Must(t, err)
		left[slot]++
	}
	for hour := range 40 {
		slot := now.Add(-time.Duration(hour) * time.Hour)
		if want := map[bool]int{true: 12}[hour <= 24]; left[slot] != want {
			t.Errorf("%d hours ago: %d rows are left, want %d", hour, left[slot], want)
		}
	}
	if marks == 0 {
		t.Error("what is no figure is gone, too")
	}
}
