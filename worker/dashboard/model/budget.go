package model

import (
	"context"
	"slices"
	"time"

	"furrow/tables/schema"
	"furrow/worker/budget"
	"furrow/worker/limits"
)

// A spending is what the pipelines of an account have spent of its budget.
type spending struct {
	usd   float64 // a month; zero: it has no budget
	spent []schema.Spending
}

// newBudget returns the budget of accounts together; nil if none has one.
func newBudget(all []spending) *Budget {
	var sum *budget.Budget
	for _, one := range all {
		if one.usd == 0 {
			continue
		}
		b := budget.Of(one.usd, one.spent)
		if sum == nil {
			sum = &b
		} else {
			sum.Join(b)
		}
	}
	if sum == nil {
		return nil
	}
	return &Budget{*sum, limits.Close(sum.Share)}
}

// budgetAge is how long a budget is used: the scheduler counts once an hour.
const budgetAge = 5 * time.Minute

// CloseBudget returns the budget if it is nearly spent, or more, for a page that is about something else. It is nil for
// who may see only one tenant. It takes an operation for each pipeline, which all share for five minutes.
func (ps *Pipelines) CloseBudget(ctx context.Context) *Budget {
	has := slices.ContainsFunc(ps.accounts.Configured(), func(p Pipeline) bool { return p.Budget > 0 })
	if !has || within(ctx) != "" {
		return nil
	}
	aside, _ := Reading(ctx) // the page is as new as the rest of it
	b, err := ps.budgets.get(aside, "", budgetAge, func(ctx context.Context) (*Budget, error) {
		all, err := everywhere(ctx, ps.accounts, func(ctx context.Context, a *account) (spending, error) {
			return a.spending(ctx)
		})
		return newBudget(all), err
	})
	if err != nil {
		ps.accounts.log.WarnContext(ctx, "the budget cannot be read", "error", err)
	}
	if err != nil || b == nil || !b.Close {
		return nil
	}
	return b
}

// spending reads what the pipelines have spent this month, if there is a budget.
func (a *account) spending(ctx context.Context) (out spending, err error) {
	all := a.configured()
	for _, p := range all {
		out.usd = max(out.usd, p.Budget)
	}
	if out.usd == 0 {
		return out, nil
	}
	out.spent = make([]schema.Spending, len(all))
	return out, each(ctx, len(all), func(ctx context.Context, i int) (err error) {
		out.spent[i], err = a.fleet.Progress().Spent(ctx, all[i].Name, time.Now())
		return err
	})
}
