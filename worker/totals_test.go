package worker

import (
	"testing"

	"furrow/tables"
	"furrow/tables/schema"
)

// month is what a run has seen of one of two months.
func month(n int, rows int64) schema.MonthFigures {
	return schema.MonthFigures{Month: schema.Month{Year: 2026, Month: 1, Shard: n}, Devices: 10, Rows: rows}
}

func run(slot tables.Ticks, folded int64, months ...schema.MonthFigures) RunFigures {
	r := RunFigures{Run: schema.Run{Slot: slot}, Workers: schema.WorkerFigures{Rows: folded}}
	for _, m := range months {
		r.AddMonth(m)
	}
	return r
}

// TestTotalsAgreeWithTheRunsAndNeverGoBack follows two runs. The second is planned month by month while the first is
// still folding.
func TestTotalsAgreeWithTheRunsAndNeverGoBack(t *testing.T) {
	last := int64(0)
	for i, moment := range []struct {
		runs []RunFigures
		want int64
	}{
		// one month of two is known
		{[]RunFigures{run(1, 0, month(1, 100))}, 100},
		{[]RunFigures{run(1, 0, month(1, 100), month(2, 200))}, 300}, // all are
		// what the run has folded counts
		{[]RunFigures{run(1, 40, month(1, 100), month(2, 200))}, 340},
		// the next one is not planned
		{[]RunFigures{run(1, 40, month(1, 100), month(2, 200)), run(2, 0)}, 340},
		{[]RunFigures{run(1, 40, month(1, 100), month(2, 200)), run(2, 0, month(1, 130))}, 340}, // or half
		// the first goes on
		{[]RunFigures{run(1, 45, month(1, 100), month(2, 200)), run(2, 0, month(1, 130), month(2, 210))}, 345},
		{[]RunFigures{run(1, 45, month(1, 100), month(2, 200)), run(2, 9, month(1, 130), month(2, 210))}, 354},
		// the first is out of sight
		{[]RunFigures{run(2, 14, month(1, 130), month(2, 210)), run(3, 0, month(1, 139), month(2, 215))}, 354},
	} {
		got := Totals(moment.runs)
		if got.Rows != moment.want || got.Rows < last {
			t.Errorf("moment %d: %d rows, want %d; before it were %d", i, got.Rows, moment.want, last)
		}
		if want := int64(10 * min(2, 1+i)); got.Devices != want {
			t.Errorf("moment %d: %d devices, want %d", i, got.Devices, want)
		}
		last = got.Rows
	}
}

// TestTotalsCountNoRowTwice: a month that is planned a second time has seen rows that its own run has folded.
func TestTotalsCountNoRowTwice(t *testing.T) {
	again := month(1, 150)
	again.Again = 1
	if got := Totals([]RunFigures{run(1, 50, again), run(2, 7)}); got.Rows != 157 {
		t.Errorf("%d rows, want 157", got.Rows)
	}
}

func TestTotalsCountTheRejectsThatAreNoLongerKept(t *testing.T) {
	m := month(1, 1000)
	m.Rejects, m.Dropped = 1_150, 600 // most of them of a few devices
	r := run(1, 0, m)
	r.Workers.Refused = 84
	if got := Totals([]RunFigures{r}); got.Rejects != 1_234 || got.Dropped != 600 {
		t.Errorf("%+v", got)
	}
}
