package model

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"furrow/tables/schema"
	"furrow/worker/query"
)

const (
	// verifiedAge is how long counts are used: there are new ones once a day.
	verifiedAge = 5 * time.Minute
	// maxVerified limits the days, and the tenants, of an answer.
	maxVerified = 500
)

// verified is what was read of a month.
type verified struct {
	states []schema.Verification
	rows   []schema.Verified
}

// Verified is what samples of devices have counted.
type Verified struct {
	accounts *Accounts
	kept     cache[verified]
}

// Completeness returns what samples of a tenant's devices, or of all, have counted in a month, as far as ctx may see
// it.
func (vs *Verified) Completeness(ctx context.Context, q MonthQuery) (Completeness, error) {
	tenant, err := vs.accounts.tenantFor(ctx, q.Tenant)
	if err != nil {
		return Completeness{}, err
	}
	from, to := query.MonthDays(q.Of(time.Now()), time.Now())
	ask := func(ctx context.Context) (verified, error) { return vs.read(ctx, from, to) }
	found, err := vs.kept.get(ctx, fmt.Sprint(from, to), verifiedAge, ask)
	if err != nil {
		return Completeness{}, err
	}
	out := Completeness{Tenant: tenant, Verifies: vs.accounts.Configured().Verifies(), From: from.String(),
		To: to.String(), Differ: []VerifyDiffers{}}
	for _, state := range found.states {
		out.newest(state)
	}
	out.Tenants, out.Days = sumsOf(found.rows, tenant)
	return out, nil
}

// OfDevice returns what the newest sample has counted of a tenant, with the differences of one of its devices alone.
func (vs *Verified) OfDevice(ctx context.Context, tenant, device string) (Completeness, error) {
	c, err := vs.Completeness(ctx, MonthQuery{Tenant: tenant})
	c.Differ = slices.DeleteFunc(c.Differ, func(d VerifyDiffers) bool { return d.Device != device })
	return c, err
}

// read reads the counts of all accounts.
func (vs *Verified) read(ctx context.Context, from, to schema.Day) (verified, error) {
	parts, err := everywhere(ctx, vs.accounts, func(ctx context.Context, a *account) (v verified, err error) {
		state, err := a.fleet.Progress().Verification(ctx)
		if err != nil {
			return v, err
		}
		rows, err := a.fleet.Progress().Verified(ctx, from, to)
		return verified{[]schema.Verification{state}, rows}, err
	})
	var all verified
	for _, p := range parts {
		all.states, all.rows = append(all.states, p.states...), append(all.rows, p.rows...)
	}
	return all, err
}

// newest adds the newest sample of an account. Of one tenant it has the differences of the devices that are named.
func (c *Completeness) newest(state schema.Verification) {
	if state.At == 0 {
		return
	}
	if at := state.At.Time(); c.At == nil || at.After(*c.At) {
		c.At, c.Share = &at, state.Last.Share
	}
	named := int64(0)
	for _, d := range state.Differ {
		if c.Tenant == "" || string(d.Tenant) == c.Tenant {
			c.Differ = append(c.Differ, VerifyDiffers{string(d.Tenant), string(d.Device), d.Day, d.Output, d.Count})
			named += d.Count
		}
	}
	if c.Tenant == "" {
		named = state.Unexplained
	}
	c.Unexplained += named
}

// sumsOf adds up rows by tenant, and by tenant and day, the worst first.
func sumsOf(rows []schema.Verified, only string) (tenants, days []VerifyCount) {
	type of struct {
		tenant schema.Tenant
		day    schema.Day // 0: the month
	}
	sums := map[of]*schema.Verified{}
	for _, row := range rows {
		if row.Tenant == "" || only != "" && string(row.Tenant) != only {
			continue
		}
		for _, at := range []of{{row.Tenant, 0}, {row.Tenant, row.Day}} {
			if sums[at] == nil {
				sums[at] = &schema.Verified{Tenant: at.tenant, Day: at.day, Reasons: map[string]int64{}}
			}
			sums[at].Add(row)
			sums[at].Share = max(sums[at].Share, row.Share)
		}
	}
	tenants, days = []VerifyCount{}, []VerifyCount{}
	for _, c := range slices.SortedFunc(maps.Values(sums), worse) {
		if c.Day == 0 {
			tenants = append(tenants, newVerifyCount(*c))
		} else {
			days = append(days, newVerifyCount(*c))
		}
	}
	return tenants[:min(len(tenants), maxVerified)], days[:min(len(days), maxVerified)]
}

func worse(a, b *schema.Verified) int {
	return cmp.Or(cmp.Compare(b.Unexplained, a.Unexplained),
		cmp.Compare(share(a.Made-a.Missing, a.Made), share(b.Made-b.Missing, b.Made)),
		cmp.Compare(share(a.Folded, a.ToFold), share(b.Folded, b.ToFold)), cmp.Compare(b.Day, a.Day),
		cmp.Compare(a.Tenant, b.Tenant))
}

// share returns part of all, and 1 of nothing.
func share(part, all int64) float64 {
	if all <= 0 {
		return 1
	}
	return float64(part) / float64(all)
}

func newVerifyCount(v schema.Verified) VerifyCount {
	c := VerifyCount{Tenant: string(v.Tenant), Share: v.Share, Devices: v.Devices, Made: v.Made, Missing: v.Missing,
		Stored: v.Stored, Rejected: v.Rejected, Folded: v.Folded, ToFold: v.ToFold, Unexplained: v.Unexplained}
	if v.Day > 0 {
		c.Day = v.Day.String()
	}
	if v.Made > 0 {
		c.StoredShare = new(share(v.Made-v.Missing, v.Made))
	}
	if v.ToFold > 0 {
		c.FoldedShare = new(share(v.Folded, v.ToFold))
	}
	return c
}
