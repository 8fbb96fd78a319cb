package model

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

const (
	// MaxTenants is the largest page of a list of tenants.
	MaxTenants = 100
	// todayPages limits the pages that are read to count a tenant's readings of today: a thousand devices each.
	todayPages = 3
	todayAge   = 30 * time.Second
)

// A today is what was read to count the readings of a tenant's day.
type today struct {
	readings int64
	devices  int // whose readings they are
	some     bool
}

// Tenants are those with devices, and what their devices have sent today.
type Tenants struct {
	accounts *Accounts
	todays   cache[today]
}

// List lists the tenants after one of them, by name; at most limit, or MaxTenants for zero.
func (ts *Tenants) List(ctx context.Context, after string, limit int) (TenantsAnswer, error) {
	if err := ts.accounts.current(ctx); err != nil {
		return TenantsAnswer{}, err
	}
	all := ts.tallies(ctx)
	out := TenantsAnswer{Total: len(all), Tenants: []Tenant{}}
	all = slices.DeleteFunc(all, func(t Tenant) bool { return t.Tenant <= after })
	if limit = min(cmp.Or(limit, MaxTenants), MaxTenants); len(all) > limit {
		all = all[:limit]
		out.Next = all[len(all)-1].Tenant
	}
	out.Tenants = append(out.Tenants, all...)
	return out, each(ctx, len(all), func(ctx context.Context, i int) error { return ts.countToday(ctx, &out.Tenants[i]) })
}

// Tenant returns one tenant, or ErrUnknown.
func (ts *Tenants) Tenant(ctx context.Context, name string) (Tenant, error) {
	if err := ts.accounts.current(ctx); err != nil {
		return Tenant{}, err
	}
	for _, t := range ts.tallies(ctx) {
		if t.Tenant == name {
			err := ts.countToday(ctx, &t)
			return t, err
		}
	}
	return Tenant{}, ErrUnknown
}

// Names returns the first thousand tenants by name, to choose from.
func (ts *Tenants) Names(ctx context.Context) []string {
	if only := within(ctx); only != "" {
		return []string{only}
	}
	x := ts.accounts.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	names := slices.Sorted(slices.Values(x.tenants.all))
	return names[:min(len(names), 1000)]
}

// tallies returns the tenants that ctx may see, by name.
func (ts *Tenants) tallies(ctx context.Context) []Tenant {
	x, now := ts.accounts.index, ts.accounts.now()
	x.mu.RLock()
	defer x.mu.RUnlock()
	all := make([]Tenant, len(x.tenants.all))
	for i, name := range x.tenants.all {
		all[i].Tenant = name
	}
	for _, d := range x.inFleet() {
		t := &all[d.tenant]
		t.Devices++
		switch d.state(now) {
		case Unheard:
			t.New++
		case Silent:
			t.Silent++
		case Held:
			t.Held++
		}
	}
	if only := within(ctx); only != "" {
		all = slices.DeleteFunc(all, func(t Tenant) bool { return t.Tenant != only })
	}
	slices.SortFunc(all, func(a, b Tenant) int { return strings.Compare(a.Tenant, b.Tenant) })
	return all
}

// countToday counts the readings of a tenant's day, or estimates them from some of its devices.
func (ts *Tenants) countToday(ctx context.Context, t *Tenant) error {
	r, err := ts.todays.lately(ctx, t.Tenant, todayAge, func(ctx context.Context) (today, error) {
		return ts.today(ctx, schema.Tenant(t.Tenant))
	})
	t.ReadingsToday, t.Estimated = r.readings, r.some
	if r.some && r.devices > 0 {
		t.ReadingsToday = int64(float64(r.readings) * max(1, float64(t.Devices)/float64(r.devices)))
	}
	return err
}

func (ts *Tenants) today(ctx context.Context, t schema.Tenant) (r today, err error) {
	window, any := ts.accounts.Configured().windowNear(schema.Daily)
	if !any {
		return today{}, nil
	}
	span := daySpan(schema.DayOf(tables.TicksOf(time.Now())))
	q := query.Question{Span: span, Window: window, Pages: todayPages}
	last := schema.DeviceID("")
	for b, err := range cut(ts.accounts.rollups(ctx, q, t, nil), &r.some) {
		if err != nil {
			return r, err
		}
		r.readings += b.Readings
		if b.Device != last {
			last, r.devices = b.Device, r.devices+1
		}
	}
	return r, nil
}
