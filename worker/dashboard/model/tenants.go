package model

import (
	"cmp"
	"context"
	"errors"
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
	whole    bool
}

// Tenants lists the tenants after one of them, by name; at most limit, or MaxTenants for zero.
func (s *Store) Tenants(ctx context.Context, after string, limit int) (TenantsAnswer, Read, error) {
	at, err := s.watch.await(ctx)
	if err != nil {
		return TenantsAnswer{}, Read{}, err
	}
	all := s.tallies(ctx)
	out := TenantsAnswer{Total: len(all), Tenants: []Tenant{}}
	all = slices.DeleteFunc(all, func(t Tenant) bool { return t.Tenant <= after })
	if limit = min(cmp.Or(limit, MaxTenants), MaxTenants); len(all) > limit {
		all = all[:limit]
		out.Next = all[len(all)-1].Tenant
	}
	out.Tenants = append(out.Tenants, all...)
	reads := make([]Read, len(all))
	err = each(ctx, len(all), func(ctx context.Context, i int) (err error) {
		reads[i], err = s.countToday(ctx, &out.Tenants[i])
		return err
	})
	read := Read{At: at, Cached: true}
	for _, r := range reads {
		read = read.And(r)
	}
	out.Operations = read.Operations
	return out, read, err
}

// Tenant returns one tenant, or ErrUnknown.
func (s *Store) Tenant(ctx context.Context, name string) (Tenant, Read, error) {
	if _, err := s.watch.await(ctx); err != nil {
		return Tenant{}, Read{}, err
	}
	for _, t := range s.tallies(ctx) {
		if t.Tenant == name {
			read, err := s.countToday(ctx, &t)
			return t, read, err
		}
	}
	return Tenant{}, Read{}, ErrUnknown
}

// TenantNames returns the first thousand tenants by name, to choose from.
func (s *Store) TenantNames(ctx context.Context) []string {
	if only := within(ctx); only != "" {
		return []string{only}
	}
	x := s.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	names := slices.Sorted(slices.Values(x.tenants.all))
	return names[:min(len(names), 1000)]
}

// tallies returns the tenants that ctx may see, by name.
func (s *Store) tallies(ctx context.Context) []Tenant {
	all := s.index.tallies(s.silence())
	if only := within(ctx); only != "" {
		all = slices.DeleteFunc(all, func(t Tenant) bool { return t.Tenant != only })
	}
	return all
}

func (x *index) tallies(silence uint32) []Tenant {
	x.mu.RLock()
	defer x.mu.RUnlock()
	all := make([]Tenant, len(x.tenants.all))
	for i, name := range x.tenants.all {
		all[i].Tenant = name
	}
	for i := range x.devices {
		d := &x.devices[i]
		t := &all[d.tenant]
		t.Devices++
		switch d.state(silence) {
		case Silent:
			t.Silent++
		case Held:
			t.Held++
		}
	}
	slices.SortFunc(all, func(a, b Tenant) int { return strings.Compare(a.Tenant, b.Tenant) })
	return all
}

// countToday counts the readings of a tenant's day, or estimates them from some of its devices.
func (s *Store) countToday(ctx context.Context, t *Tenant) (Read, error) {
	r, read, err := s.todays.get(ctx, t.Tenant, todayAge, func(ctx context.Context) (today, error) {
		return s.today(ctx, schema.Tenant(t.Tenant))
	})
	t.ReadingsToday, t.Estimated = r.readings, !r.whole
	if !r.whole && r.devices > 0 {
		t.ReadingsToday = int64(float64(r.readings) * max(1, float64(t.Devices)/float64(r.devices)))
	}
	return read, err
}

func (s *Store) today(ctx context.Context, t schema.Tenant) (r today, err error) {
	window, any := s.windowNear(schema.Daily)
	if !any {
		return today{whole: true}, nil
	}
	span := daySpan(schema.DayOf(tables.TicksOf(time.Now())))
	q := query.Question{Span: span, Window: window, Pages: todayPages}
	r.whole = true
	last := schema.DeviceID("")
	for b, err := range query.Readable(s.rollups(ctx, q, t, nil), new(query.Skipped)) {
		if errors.Is(err, query.ErrMore) {
			r.whole = false
			continue
		}
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
