// Package budget projects what a fleet's operations of a month cost on Azure.
package budget

import (
	"time"

	"furrow/tables/schema"
	"furrow/worker/price"
)

// A Budget compares what a month costs with what it may cost, in US dollars. Its JSON is stable. It has the operations
// of jobs, and an insert for each reading that they folded. It does not have tokens, the dashboard, queries, stored
// bytes and traffic.
type Budget struct {
	USDPerMonth float64 `json:"usdPerMonth"` // the budget of the configuration
	Spent       float64 `json:"spent"`       // since from
	// until the end of the month, at the rate so far; absent until a day is counted
	Projected float64 `json:"projected,omitzero"`
	// part of usdPerMonth that is projected; above 1 it is exceeded; absent until a day is counted
	Share   float64    `json:"share,omitzero"`
	From    *time.Time `json:"from"`    // null if nothing is counted yet
	Through *time.Time `json:"through"` // counted until then
	Prices  string     `json:"prices"`  // source of the prices
}

// least is how long must be counted before anything is projected: a fleet that begins sends its past, and days differ
// from nights.
const least = 24 * time.Hour

// Of returns the budget of a fleet, given what each of its pipelines has done. All pipelines fold the same readings.
func Of(usd float64, all []schema.Spending) Budget {
	prices := price.Azure()
	b := Budget{USDPerMonth: usd, Prices: prices.String()}
	inserts, projected := 0.0, 0.0
	for _, s := range all {
		if s.Through <= s.From {
			continue
		}
		from, through := s.From.Time(), s.Through.Time()
		_, work := prices.Monthly(s.Operations, price.Month) // of a month: as they are
		whole := 0.0
		if counted := through.Sub(from); counted >= least {
			whole = float64(s.MonthEnd().Sub(from)) / float64(counted)
		}
		readings := float64(s.Rows) * prices.Operation("tables insert")
		b.Spent, b.Projected = b.Spent+work, b.Projected+work*whole
		inserts, projected = max(inserts, readings), max(projected, readings*whole)
		if b.From == nil || from.Before(*b.From) {
			b.From = &from
		}
		if b.Through == nil || through.Before(*b.Through) {
			b.Through = &through
		}
	}
	b.Spent, b.Projected = b.Spent+inserts, b.Projected+projected
	b.Share = b.Projected / usd
	return b
}

// Join adds the budget of another account.
func (b *Budget) Join(o Budget) {
	b.USDPerMonth, b.Spent, b.Projected = b.USDPerMonth+o.USDPerMonth, b.Spent+o.Spent, b.Projected+o.Projected
	b.Share = b.Projected / b.USDPerMonth
	if b.From == nil || o.From != nil && o.From.Before(*b.From) {
		b.From = o.From
	}
	if b.Through == nil || o.Through != nil && o.Through.Before(*b.Through) {
		b.Through = o.Through
	}
}
