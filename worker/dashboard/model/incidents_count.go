package model

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// countOpen counts the open incidents of the devices that a filter selects.
func (is *IncidentAnswers) countOpen(f Filter) (n OpenIncidents) {
	all, more := is.openOf(f)
	n.More = more
	for _, i := range all {
		switch i.Severity {
		case "critical":
			n.Critical++
		case "warning":
			n.Warning++
		default:
			n.Info++
		}
		if i.Acknowledged {
			n.Acknowledged++
		}
		if i.Muted {
			n.Muted++
		}
	}
	return n
}

// openOf returns the open incidents of the devices that a filter selects, the newest first.
func (is *IncidentAnswers) openOf(f Filter) (all []query.Incident, more bool) {
	all, more = is.open.ofTenant(f.Tenant)
	if f == (Filter{}) {
		return all, more
	}
	x := is.accounts.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	m := x.matcher(f, is.accounts.now())
	return slices.DeleteFunc(all, func(i query.Incident) bool {
		at, known := x.at[string(i.ID.Device)]
		return !known || !m.matches(int(at))
	}), more
}

// Newest returns at most n open incidents of the devices that a filter selects: the greatest severity first,
// and then the newest. It takes no storage operations of its own.
func (is *IncidentAnswers) Newest(ctx context.Context, f Filter, n int) ([]answers.Incident, error) {
	f.Tenant = scoped(ctx, f.Tenant)
	f, err := is.decider.decide(ctx, f)
	if err != nil {
		return nil, err
	}
	all, _ := is.openOf(f)
	slices.SortStableFunc(all, func(a, b query.Incident) int {
		return cmp.Compare(severityOf(b.Severity), severityOf(a.Severity))
	})
	out := []answers.Incident{}
	for i := range all[:min(n, len(all))] {
		out = append(out, answers.IncidentOf(&all[i]))
	}
	return out, nil
}

// IncidentCounts are the incidents of the last day by rule and by hour.
type IncidentCounts struct {
	From  time.Time // beginning of the first hour
	Hours []int     // how many opened first in each
	Rules []RuleCount
	More  bool // there are more than were read
	None  bool // there are too many tenants: nothing was read
}

// A RuleCount counts the incidents of a rule.
type RuleCount struct {
	Rule      string
	Open, Day int // now, and that opened first since From
}

const (
	countedHours   = 24
	countedTenants = 5    // more are not read for one page
	maxCounted     = 5000 // incidents of a tenant's day
	countAge       = time.Minute
)

// Counts counts the incidents that a question selects, in any state. A tenant takes three storage operations,
// two for each month in which its devices were deployed, and one per thousand rows, shared by all requests of a minute.
func (is *IncidentAnswers) Counts(ctx context.Context, q IncidentQuery) (n IncidentCounts, err error) {
	q.States, q.From, q.To = IncidentStates(), nil, nil
	if err = is.choose(ctx, &q); err != nil {
		return n, err
	}
	n = IncidentCounts{From: time.Now().UTC().Truncate(time.Hour).Add((1 - countedHours) * time.Hour),
		Hours: make([]int, countedHours)}
	rules := map[schema.Rule]*RuleCount{}
	rule := func(i *query.Incident) *RuleCount {
		if rules[i.ID.Rule] == nil {
			rules[i.ID.Rule] = &RuleCount{Rule: string(i.ID.Rule)}
		}
		return rules[i.ID.Rule]
	}
	open, more := is.open.ofTenant(q.Tenant)
	for i := range open {
		if q.selects(&open[i]) {
			rule(&open[i]).Open++
		}
	}
	n.More = more
	tenants := is.tenantsOf(&q)
	if n.None = len(tenants) > countedTenants; n.None {
		tenants = nil
	}
	for _, t := range tenants {
		all, err := is.ofDay(ctx, t, n.From)
		if err != nil {
			return n, err
		}
		n.More = n.More || len(all) == maxCounted
		for i := range all {
			hour := all[i].ID.First.Time().Sub(n.From) / time.Hour
			if hour < 0 || hour >= countedHours || !q.selects(&all[i]) {
				continue
			}
			n.Hours[hour]++
			rule(&all[i]).Day++
		}
	}
	for _, r := range rules {
		n.Rules = append(n.Rules, *r)
	}
	slices.SortFunc(n.Rules, func(a, b RuleCount) int {
		return cmp.Or(cmp.Compare(b.Open, a.Open), cmp.Compare(b.Day, a.Day), cmp.Compare(a.Rule, b.Rule))
	})
	return n, nil
}

// ofDay reads the incidents of a tenant that opened first since a time.
func (is *IncidentAnswers) ofDay(ctx context.Context, t schema.Tenant, from time.Time) ([]query.Incident, error) {
	key := string(t) + schema.Separator + strconv.FormatInt(from.Unix(), 10)
	return is.counted.get(ctx, key, countAge, func(ctx context.Context) ([]query.Incident, error) {
		ask := query.IncidentSelector{Tenant: t, Limit: maxCounted,
			Span: query.Span{From: tables.TicksOf(from), To: tables.MaxTicks}}
		return query.Collect(is.stored(ctx, ask), new(query.Skipped))
	})
}

const (
	deviceIncidentsAge = 10 * time.Second
	maxDeviceIncidents = 200
	lookBack           = 24 * time.Hour // at least
)

// OfDevice returns the incidents of a device that were open in a span, the newest first. Closed ones are found
// that opened first within the span, or not longer before it than it is long; at least a day. One storage operation
// reads a thousand rows of devices that were deployed in the same month.
func (is *IncidentAnswers) OfDevice(
	ctx context.Context, id string, from, to time.Time,
) ([]answers.Incident, error) {
	o, err := is.owners.holder(ctx, id)
	if err != nil {
		return nil, err
	}
	span := spanOf(from.Add(-max(lookBack, to.Sub(from))), to)
	key := ofMember(o.member) + from.Truncate(time.Minute).String() + to.Truncate(time.Minute).String()
	found, err := is.ofDevice.get(ctx, key, deviceIncidentsAge,
		func(ctx context.Context) (all []query.Incident, err error) {
			found := is.accounts.fleetOf(o.member.Device).Incidents().OfDevice(ctx, o.member, span)
			for i, err := range query.Readable(found, new(query.Skipped)) {
				if err != nil {
					return nil, err
				}
				if all = append(all, i); len(all) == maxDeviceIncidents {
					break
				}
			}
			return all, nil
		})
	return is.within(found, o.member, from, to), err
}

// within adds older incidents of a tenant's device that are still open, and leaves out those that closed before a span.
func (is *IncidentAnswers) within(found []query.Incident, m schema.Member, from, to time.Time) []answers.Incident {
	known := map[schema.IncidentID]bool{}
	all := []answers.Incident{}
	add := func(i *query.Incident) {
		one := answers.IncidentOf(i)
		if !known[i.ID] && one.First.Before(to) && (one.Closed == nil || one.Closed.After(from)) {
			all = append(all, one)
		}
		known[i.ID] = true
	}
	for i := range found {
		add(&found[i])
	}
	open, _ := is.open.ofTenant("")
	for i := range open {
		if open[i].ID.Device == m.Device && open[i].Home.Tenant == m.Tenant {
			add(&open[i])
		}
	}
	return all
}
