package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"furrow/tables/schema"
	"furrow/worker/cost"
	"furrow/worker/query"
)

// A MonthQuery asks about a month.
type MonthQuery struct {
	Tenant string     `query:"tenant"` // empty: all
	Month  *time.Time `query:"month"`  // it is in the month; nil: the present month
}

// Of returns a time in the month.
func (q MonthQuery) Of(now time.Time) time.Time {
	if q.Month != nil {
		return *q.Month
	}
	return now.UTC()
}

// A CostQuery asks what tenants cost in a month.
type CostQuery struct {
	MonthQuery
	Window string `query:"window"` // 1d: a line for each day; empty: for the month
}

// Costs are what tenants cost in a month.
type Costs struct {
	accounts *Accounts
	kept     cache[cost.Costs]
}

// costAge is how long costs are used.
const costAge = 5 * time.Minute

// OfMonth returns what tenants cost, as far as ctx may see them. Somebody who sees one tenant gets its share of the
// fleet's operations, and nothing else of the fleet.
func (cs *Costs) OfMonth(ctx context.Context, q CostQuery) (cost.Costs, error) {
	var err error
	if q.Tenant, err = cs.accounts.tenantFor(ctx, q.Tenant); err != nil {
		return cost.Costs{}, err
	}
	ask := query.CostQuestion{Tenant: schema.Tenant(q.Tenant), ByDay: q.Window != ""}
	if q.Window != "" && q.Window != schema.Daily.String() {
		return cost.Costs{}, queryErrorf("costs come for the whole month, or with window=1d for each day")
	}
	if !cs.accounts.Configured().ReportsTenants() {
		return cost.Costs{}, queryErrorf("costs need reports by tenant: add reports: {windows: [1h, 1d], by: " +
			"[tenant]} to the configuration")
	}
	windows, _ := cs.accounts.Configured().reports()
	ask.Window = slices.Max(windows)
	ask.From, ask.To = query.MonthDays(q.Of(time.Now()), time.Now())
	key := fmt.Sprint(ask.Tenant, schema.Separator, ask.From, ask.To, ask.ByDay)
	return cs.kept.get(ctx, key, costAge, func(ctx context.Context) (cost.Costs, error) {
		all, err := everywhere(ctx, cs.accounts, func(ctx context.Context, a *account) (cost.Costs, error) {
			ask := ask
			for _, p := range a.configured() {
				ask.Pipelines = append(ask.Pipelines, p.Name)
			}
			return a.fleet.Reports().Costs(ctx, ask, &query.Skipped{})
		})
		if !cs.accounts.several() {
			return all[0], err
		}
		return cost.Join(all), err
	})
}
