package main

import (
	"fmt"
	"time"

	"furrow/tables/schema"
	"furrow/worker/budget"
	"furrow/worker/limits"
)

// budgetOf returns the budget of pipelines; nil if the configuration has none.
func budgetOf(all []statusRead) *budget.Budget {
	var spent []schema.Spending
	usd := 0.0
	for _, s := range all {
		spent, usd = append(spent, s.Spent), max(usd, s.Budget)
	}
	if usd == 0 {
		return nil
	}
	b := budget.Of(usd, spent)
	return &b
}

// budgetsText formats the budget of each storage for people.
func budgetsText(all []pipelineStatus) (text string) {
	var last *budget.Budget
	for _, s := range all {
		if s.Budget == nil || s.Budget == last {
			continue
		}
		last = s.Budget
		where := ""
		if s.Storage != "" {
			where = s.Storage + ": "
		}
		text += "\n" + wrapped(where+budgetText(*s.Budget), 2) + "\n"
	}
	return text
}

func budgetText(b budget.Budget) string {
	if b.From == nil {
		return "budget: no run of this month is counted yet: the scheduler counts those that are an hour old"
	}
	text := fmt.Sprintf("budget: $%.2f from %s to %s", b.Spent, b.From.Format(time.DateTime),
		b.Through.Format(time.DateTime))
	if b.Share > 0 {
		text += fmt.Sprintf(", $%.2f until the end of the month at this rate: %.0f %% of $%.2f", b.Projected, 100*b.Share,
			b.USDPerMonth)
	} else {
		text += fmt.Sprintf(" of $%.2f; the month is projected when a day is counted", b.USDPerMonth)
	}
	text += ". Counted are jobs and the inserts of readings"
	if limits.Close(b.Share) {
		return "warning: " + text + " (furrow help limits)"
	}
	return text
}
