package model

import (
	"context"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// A Rule is what the devices of a fleet are watched for.
type Rule struct {
	Name, Kind, When string
	Match            string // the devices that it watches, as in a configuration; empty: all
	Severity         string
	Notify           []string // targets
	Tenants          []string // whose devices it can watch; none: of any
	Sensor           string   // whose values it is about; empty: of any, or of several
	// Limits returns the limits of a device with some labels. nil: the rule has none.
	Limits func(labels map[string]string) []float64
	// Watches reports whether it is for a device of a model. nil: what is known of devices here does not say.
	Watches func(d schema.Member, model string) bool
}

// A RuleStatus is a rule, and what has come of it.
type RuleStatus struct {
	Rule
	Devices     int // that it watches; -1: that is not known, and it is not shown to a tenant
	Open, Month int // incidents: now, and that opened first in the last 30 days
}

// A RulesAnswer is what watches the devices that somebody may see.
type RulesAnswer struct {
	Rules []RuleStatus
	Since time.Time // when the configuration was stored that has them; zero: that is not known
	Mutes []schema.Mute
	More  bool // there are more incidents than were counted
	None  bool // there are too many tenants: the last 30 days were not read
}

const (
	ruleDays   = 30
	watchedAge = time.Minute
)

// Rules returns the rules, how many devices they watch, and their incidents. A tenant takes as many operations as for
// Counts, shared by all requests of a minute; the mutes for all tenants take one an account.
func (is *IncidentAnswers) Rules(ctx context.Context) (out RulesAnswer, err error) {
	if err = is.accounts.current(ctx); err != nil {
		return out, err
	}
	tenant := within(ctx)
	var rules []RuleStatus
	rules, out.Since = is.rules(tenant)
	open, more := is.open.ofTenant(tenant)
	out.More = more
	month, err := is.ofMonth(ctx, tenant, &out)
	if err != nil {
		return out, err
	}
	for _, r := range rules {
		r.Open, r.Month = countRule(open, r.Name), countRule(month, r.Name)
		if tenant != "" {
			r.Match = "" // it may name others
		}
		if tenant == "" || r.Devices > 0 || r.Open+r.Month > 0 {
			out.Rules = append(out.Rules, r)
		}
	}
	out.Mutes, err = is.mutes(ctx, tenant)
	return out, err
}

// Watching returns how many rules watch devices that ctx may see, as far as it is known here, and since when.
func (is *IncidentAnswers) Watching(ctx context.Context) (n int, since time.Time) {
	tenant := within(ctx)
	if tenant == "" {
		all, since := is.accounts.Configured().RulesOf("")
		return len(all), since
	}
	all, since := is.rules(tenant)
	for _, r := range all {
		if r.Devices > 0 {
			n++
		}
	}
	return n, since
}

// rules returns the rules that can watch devices of a tenant, or of any, with the number of these devices.
func (is *IncidentAnswers) rules(tenant string) (all []RuleStatus, since time.Time) {
	rules, since := is.accounts.Configured().RulesOf(tenant)
	watched := is.watched.get(tenant+schema.Separator+since.String(), func() []int {
		return is.watchedBy(rules, tenant)
	})
	for i, r := range rules {
		status := RuleStatus{Rule: r, Devices: -1}
		if r.Watches != nil && i < len(watched) {
			status.Devices = watched[i]
		}
		all = append(all, status)
	}
	return all, since
}

func countRule(all []query.Incident, name string) (n int) {
	for i := range all {
		if string(all[i].ID.Rule) == name {
			n++
		}
	}
	return n
}

// ofMonth reads the incidents that opened first in the last 30 days.
func (is *IncidentAnswers) ofMonth(
	ctx context.Context, tenant string, out *RulesAnswer,
) (all []query.Incident, err error) {
	tenants := is.tenantsOf(&IncidentQuery{Filter: Filter{Tenant: tenant}})
	if out.None = len(tenants) > countedTenants; out.None {
		return nil, nil
	}
	from := time.Now().UTC().Truncate(time.Hour).AddDate(0, 0, -ruleDays)
	for _, t := range tenants {
		some, err := is.ofDay(ctx, t, from)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		out.More = out.More || len(some) == maxCounted
	}
	return all, nil
}

// mutes returns the mutes of a tenant, or all: those that have not ended, the first to end first.
func (is *IncidentAnswers) mutes(ctx context.Context, tenant string) (all []schema.Mute, err error) {
	if tenant == "" {
		for _, a := range is.accounts.all {
			some, err := a.fleet.Incidents().MutesForAll(ctx)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
	}
	is.open.mu.RLock()
	for t, of := range is.open.of {
		if tenant == "" || string(t.Tenant) == tenant {
			all = append(all, of.Mutes...)
		}
	}
	is.open.mu.RUnlock()
	now := tables.TicksOf(time.Now())
	all = slices.DeleteFunc(all, func(m schema.Mute) bool { return m.Until <= now })
	slices.SortFunc(all, func(a, b schema.Mute) int { return int(max(-1, min(1, a.Until-b.Until))) })
	return all, nil
}

// watchedBy counts the devices of a tenant, or of any, that each rule is for.
func (is *IncidentAnswers) watchedBy(rules []Rule, tenant string) []int {
	x, counts := is.accounts.index, make([]int, len(rules))
	x.mu.RLock()
	defer x.mu.RUnlock()
	for d := range x.of(tenant) {
		m := schema.Member{Device: schema.DeviceID(d.id), Tenant: schema.Tenant(x.tenants.text(d.tenant)),
			Site: schema.Site(x.sites.text(d.site)), Labels: labelsOf(d.labels), Month: x.monthOf[d.month].Month,
			Revoked: d.flags&isRevoked != 0}
		for n, r := range rules {
			if r.Watches != nil && r.Watches(m, x.models.text(uint32(d.model))) {
				counts[n]++
			}
		}
	}
	return counts
}
