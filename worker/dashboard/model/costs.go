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

// A CostQuery asks what tenants cost in a month.
type CostQuery struct {
	Tenant string    // empty: all
	Month  time.Time // in it; zero: now
	Window string    // 1d: a line for each day; empty: for the month
}

// costAge is how long costs are used.
const costAge = 5 * time.Minute

// Costs returns what tenants cost, as far as ctx may see them. Somebody who sees one tenant gets its share of the
// fleet's operations, and nothing else of the fleet.
func (s *Store) Costs(ctx context.Context, q CostQuery) (cost.Costs, Read, error) {
	read, err := s.polled(ctx)
	if err != nil {
		return cost.Costs{}, read, err
	}
	unknown := fmt.Errorf("tenant %s: %w", q.Tenant, ErrUnknown)
	if q.Tenant = scoped(ctx, q.Tenant); q.Tenant == noTenant {
		return cost.Costs{}, read, unknown
	}
	if _, known := s.index.only(q.Tenant); !known {
		return cost.Costs{}, read, unknown
	}
	ask := query.CostQuestion{Tenant: schema.Tenant(q.Tenant), ByDay: q.Window != ""}
	if q.Window != "" && q.Window != schema.Daily.String() {
		return cost.Costs{}, read, queryErrorf("costs come for the whole month, or with window=1d for each day")
	}
	if !s.HasCosts() {
		return cost.Costs{}, read, queryErrorf("costs need reports by tenant: add reports: {windows: [1h, 1d], by: " +
			"[tenant]} to the configuration")
	}
	windows, _ := s.reports()
	ask.Window = slices.Max(windows)
	now := time.Now()
	if q.Month.IsZero() {
		q.Month = now.UTC()
	}
	ask.From, ask.To = query.MonthDays(q.Month, now)
	key := fmt.Sprint(ask.Tenant, schema.Separator, ask.From, ask.To, ask.ByDay)
	return s.costs.get(ctx, key, costAge, func(ctx context.Context) (cost.Costs, error) {
		all := make([]cost.Costs, len(s.accounts))
		err := s.everywhere(ctx, func(ctx context.Context, a *account) (err error) {
			ask := ask
			for _, p := range a.configured() {
				ask.Pipelines = append(ask.Pipelines, p.Name)
			}
			all[a.number], err = a.fleet.Costs(ctx, ask, &query.Skipped{})
			return err
		})
		if !s.several() {
			return all[0], err
		}
		return cost.Join(all), err
	})
}

// HasCosts reports whether Costs can be asked for.
func (s *Store) HasCosts() bool {
	windows, by := s.reports()
	return len(windows) > 0 && slices.Contains(by, schema.ByTenant)
}
