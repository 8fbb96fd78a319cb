package model

import (
	"context"
	"slices"
	"strings"
	"time"

	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
)

// A TenantsQuery is what a list of tenants was asked for.
type TenantsQuery struct {
	After string // a tenant
	Limit int    // at most MaxTenants; 0 means that
}

// Bounds of a list of tenants.
const (
	MaxTenants = 100
	// todayPages bounds what is read of a tenant's day to count its readings: a
	// thousand devices each.
	todayPages = 3
	todayFor   = 30 * time.Second
)

// A today is what was read of how much the devices of a tenant have sent.
type today struct {
	readings int64
	devices  int // that they are of
	whole    bool
}

// Tenants are those that there are, by name.
func (s *Store) Tenants(ctx context.Context, ask TenantsQuery) (TenantsAnswer, Read, error) {
	ctx = s.counted(ctx)
	at, err := s.watched.look(ctx)
	if at.IsZero() && err != nil {
		return TenantsAnswer{}, Read{}, err
	}
	all := s.index.tallies(s.silence())
	out := TenantsAnswer{Total: len(all), Tenants: []Tenant{}}
	if ask.Limit <= 0 || ask.Limit > MaxTenants {
		ask.Limit = MaxTenants
	}
	from, _ := slices.BinarySearchFunc(all, ask.After, func(t Tenant, after string) int { return strings.Compare(t.Tenant, after+"\x00") })
	if ask.After == "" {
		from = 0
	}
	all = all[from:]
	if len(all) > ask.Limit {
		all = all[:ask.Limit]
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

// Tenant is one of them, or ErrUnknown.
func (s *Store) Tenant(ctx context.Context, name string) (Tenant, Read, error) {
	ctx = s.counted(ctx)
	at, err := s.watched.look(ctx)
	if at.IsZero() && err != nil {
		return Tenant{}, Read{}, err
	}
	for _, t := range s.index.tallies(s.silence()) {
		if t.Tenant == name {
			read, err := s.countToday(ctx, &t)
			return t, read, err
		}
	}
	return Tenant{}, Read{}, ErrUnknown
}

// TenantNames are the names of the tenants, as many as a list to choose from has.
func (s *Store) TenantNames() []string {
	x := s.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	names := slices.Sorted(slices.Values(x.tenants.all))
	return names[:min(len(names), 1000)]
}

// tallies are the devices of each tenant, by name.
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

// countToday counts the readings of a tenant's day, or estimates them from those of
// some of its devices.
func (s *Store) countToday(ctx context.Context, t *Tenant) (Read, error) {
	r, read, err := s.todays.get(ctx, t.Tenant, todayFor, func(ctx context.Context) (today, error) {
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
	p := schema.RollupPartition{Tenant: t, Window: window, Day: schema.DayOf(tables.TicksOf(time.Now()))}
	more, last := false, schema.DeviceID("")
	rows := s.rowsOrMore(ctx, s.c.Names.Rollups(), tables.Query{Range: tables.Range{Partitions: p.TenantDay()}}, todayPages, &more)
	for e, err := range schema.Joined(rows, schema.RollupOutput) {
		if err != nil {
			return r, err
		}
		r.readings += most(e)
		if row, err := schema.ParseRollupRow(e.RowKey); err == nil && row.Device != last {
			last, r.devices = row.Device, r.devices+1
		}
	}
	r.whole = !more
	return r, nil
}

// most is the count of the sensor that most readings have: of a reading with many
// sensors, each counts it.
func most(e tables.Entity) (n int64) {
	for _, p := range sensorsOnly(e) {
		if a, err := rollup.ParseAggregate(p.Value.Text()); err == nil {
			n = max(n, a.Count)
		}
	}
	return n
}
