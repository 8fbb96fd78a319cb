package main

import (
	"testing"

	"furrow/tables/schema"
	"furrow/worker"
)

// TestLateReadingsAreCountedAfterRunsThatHadBegun: their commits decide what is late.
func TestLateReadingsAreCountedAfterRunsThatHadBegun(t *testing.T) {
	begun := worker.RunFigures{Run: schema.Run{Slot: 7, Started: 8},
		Workers: schema.WorkerFigures{Months: 1, Jobs: map[string]int64{"master done": 1, "month done": 1}},
		Months:  schema.MonthFigures{Batches: 2}}
	over, waiting, skipped := begun, begun, begun
	over.Workers.Jobs = map[string]int64{"master done": 1, "month done": 1, "device done": 2}
	waiting.Run.Started = 0
	skipped.Run.Skipped = "the run before is not done"
	for name, c := range map[string]struct {
		run  worker.RunFigures
		want bool
	}{"begun": {begun, true}, "over": {over, false}, "not begun": {waiting, false}, "skipped": {skipped, false}} {
		if got := underWay(c.run, 10); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if underWay(begun, 6) {
		t.Error("a later run sees all rows")
	}
}

// TestUncertainNumberOfLateReadingsSaysSo: while a run is under way, more may be late.
func TestUncertainNumberOfLateReadingsSaysSo(t *testing.T) {
	n, until := int64(3), schema.Run{}.Slot.Time()
	l := lateLine{Late: &n, LateMore: true, Pipeline: "live", Until: &until}
	if text := l.text(); text[:18] != "At least 3 reading" {
		t.Error(text)
	}
	if n = 0; l.text() == "" {
		t.Error("the summary does not say that more readings may be late")
	}
	if l.LateMore = false; l.text() != "" {
		t.Error(l.text())
	}
}
