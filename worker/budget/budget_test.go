package budget_test

import (
	"math"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/budget"
)

// TestMonthIsProjectedAtTheRateSoFar has two pipelines that were counted for three days of the thirty that were left.
func TestMonthIsProjectedAtTheRateSoFar(t *testing.T) {
	from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	spent := schema.Spending{Pipeline: "live", Day: schema.DayOf(tables.TicksOf(from)), From: tables.TicksOf(from),
		Through: tables.TicksOf(from.Add(3 * 24 * time.Hour)), Rows: 100_000_000, // $3.60
		Operations: map[string]int64{"tables query": 50_000_000, "queues put": 1_000_000}} // $1.80 and $0.40
	other := spent
	other.Pipeline, other.Operations = "archive", map[string]int64{"objects put block": 10_000} // $0.05
	b := budget.Of(100, []schema.Spending{spent, other, {Pipeline: "new"}})
	if math.Abs(b.Spent-5.85) > 1e-9 || math.Abs(b.Projected-58.5) > 1e-9 || math.Abs(b.Share-0.585) > 1e-9 ||
		!b.From.Equal(from) || !b.Through.Equal(from.Add(3*24*time.Hour)) {
		t.Errorf("%+v", b)
	}
	first := spent // is told nothing by 17 ms of counting, nor by a morning
	for _, counted := range []time.Duration{17 * time.Millisecond, 23 * time.Hour} {
		first.Through = first.From.Add(counted)
		if b := budget.Of(1, []schema.Spending{first}); b.Spent == 0 || b.Projected != 0 || b.Share != 0 || b.From == nil {
			t.Errorf("after %v: %+v", counted, b)
		}
	}
	both := budget.Of(100, []schema.Spending{spent, first})
	if alone := budget.Of(100, []schema.Spending{spent}); both.Projected != alone.Projected {
		t.Errorf("with a pipeline that began this morning: %+v, want what the other projects: %+v", both, alone)
	}
	if b := budget.Of(100, nil); b.Share != 0 || b.From != nil {
		t.Errorf("nothing counted: %+v", b)
	}
}
