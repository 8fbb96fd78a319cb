package model

import (
	"context"
	"fmt"
	"time"

	"furrow/tables/schema"
	"furrow/worker/budget"
	"furrow/worker/limits"
)

// budgetOf returns the budget of pipelines; nil if the configuration has none.
func budgetOf(all []pipelineRead) *Budget {
	usd := 0.0
	var spent []schema.Spending
	for _, p := range all {
		usd, spent = max(usd, p.Budget), append(spent, p.Spent)
	}
	return newBudget(usd, spent)
}

func newBudget(usd float64, spent []schema.Spending) *Budget {
	if usd == 0 {
		return nil
	}
	b := budget.Of(usd, spent)
	return &Budget{b, limits.Close(b.Share)}
}

// budgetAge is how long a budget is used: the scheduler counts once an hour.
const budgetAge = 5 * time.Minute

// CloseBudget returns the budget if it is nearly spent, or more, for a page that is about something else. It is nil for
// who may see only one tenant. It takes an operation for each pipeline, which all share for five minutes.
func (s *Store) CloseBudget(ctx context.Context) *Budget {
	all := s.configured()
	usd := 0.0
	for _, p := range all {
		usd = max(usd, p.Budget)
	}
	if usd == 0 || within(ctx) != "" {
		return nil
	}
	b, _, err := s.budgets.get(ctx, fmt.Sprint(usd), budgetAge, func(ctx context.Context) (*Budget, error) {
		spent := make([]schema.Spending, len(all))
		err := each(ctx, len(all), func(ctx context.Context, i int) (err error) {
			spent[i], err = s.fleet.Spent(ctx, all[i].Name, time.Now())
			return err
		})
		return newBudget(usd, spent), err
	})
	if err != nil {
		s.log.WarnContext(ctx, "the budget cannot be read", "error", err)
	}
	if err != nil || !b.Close {
		return nil
	}
	return b
}
