package model

import (
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
	if usd == 0 {
		return nil
	}
	b := budget.Of(usd, spent)
	return &Budget{b, limits.Close(b.Share)}
}
