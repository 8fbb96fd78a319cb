package model

import (
	"math"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
)

// TestBudgetIsThatOfAllPipelines has one pipeline that has spent 18 dollars since the beginning of this month, and one
// that nobody has counted.
func TestBudgetIsThatOfAllPipelines(t *testing.T) {
	t.Parallel()
	f := modeltest.New(t, azuretest.Local(t))
	s := over(t, f)
	if all, err := s.Pipelines.All(t.Context()); err != nil || all.Budget != nil {
		t.Errorf("without a budget: %+v, %v", all.Budget, err)
	}
	s = over(t, f)
	s.Accounts.all[0].Pipelines[0].Budget = 20
	other := s.Accounts.all[0].Pipelines[0]
	other.Name = "archive"
	s.Accounts.all[0].Pipelines = append(s.Accounts.all[0].Pipelines, other)
	now := time.Now().UTC()
	from := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	spent := schema.Spending{Pipeline: "live", Day: schema.DayOf(tables.TicksOf(from)), From: tables.TicksOf(from),
		Operations: map[string]int64{"tables query": 500_000_000}}
	through := spent.MonthEnd()
	spent.Through = tables.TicksOf(through) // so that what is spent is what is projected
	f.Write(t, f.Names.Runs(), spent.Entity())
	if b := s.Pipelines.CloseBudget(t.Context()); b == nil || math.Abs(b.Share-0.9) > 1e-9 {
		t.Errorf("the overview warns of %+v", b)
	}
	if b := s.Pipelines.CloseBudget(Within(t.Context(), "contoso")); b != nil {
		t.Errorf("one who sees a tenant is told of %+v", b)
	}
	f.Requests()
	for range 3 {
		s.Pipelines.CloseBudget(t.Context())
	}
	if n := f.Requests(); n != 0 {
		t.Errorf("to look again took %d requests", n)
	}
	ctx, read := Reading(t.Context())
	all, err := s.Pipelines.All(ctx)
	b := all.Budget
	if err != nil || b == nil || b.USDPerMonth != 20 || math.Abs(b.Share-0.9) > 1e-9 || !b.Close ||
		!b.From.Equal(from) || !b.Through.Equal(through) {
		t.Fatalf("%+v, %v", b, err)
	}
	if counted := f.Requests(); read.Operations() > counted {
		t.Errorf("it took %d operations, and says %d", counted, read.Operations())
	}
}
