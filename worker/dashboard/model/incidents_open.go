package model

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"

	"golang.org/x/sync/errgroup"
)

// An openSet has the open incidents of all tenants in memory, as their index has them.
type openSet struct {
	mu      sync.RWMutex
	of      map[tenantIn]*tenantOpen
	version uint64 // grows with every change
}

// A tenantIn is a tenant in an account, by its number.
type tenantIn struct {
	schema.Tenant
	account uint16
}

// A tenantOpen has the open incidents of a tenant.
type tenantOpen struct {
	query.OpenIndex
	read    time.Time
	checked map[schema.IncidentID]time.Time // when the incident itself was read
	closed  map[string]bool                 // rows of the index whose incidents have closed
}

// Bounds of what the poller reads of open incidents, whatever their number: at most so many requests a poll.
const (
	maxOpen         = 10_000 // of a tenant, the newest
	openTenants     = 10     // read at a poll, the longest unread first; all that were never read
	checkedPerPoll  = 2      // incidents that are read, because a late entry of the index may be of a closed one
	checkedAfter    = time.Minute
	checkedAgain    = 10 * time.Minute
	incidentsWaited = 10 * time.Second // between two reads of a tenant's mutes and open incidents while nothing folds
)

// incidents reads the open incidents of tenants.
func (p *poller) incidents(ctx context.Context) error {
	in := p.account.number
	due := p.open.due(p.accounts.index.tenantsIn(in), p.incidentInterval())
	if len(due) == 0 {
		return nil
	}
	fleet, open := p.account.fleet, p.open
	mutes, err := fleet.Incidents().MutesForAll(ctx)
	if err != nil {
		return err
	}
	var g errgroup.Group // what cannot be read of one tenant stops no other
	g.SetLimit(polledParts)
	for _, t := range due {
		g.Go(func() error {
			x, err := fleet.Incidents().OpenIndex(ctx, t.Tenant, maxOpen)
			if err == nil {
				open.replace(t, x, mutes)
			}
			return err
		})
	}
	err = g.Wait()
	p.accounts.index.incidents(open.severities())
	return errors.Join(err, p.checkIncidents(ctx))
}

// incidentInterval is how long a tenant's index is used. Without rules, incidents do not change.
func (p *poller) incidentInterval() time.Duration {
	if p.accounts.Configured().Writes(rules.Table) {
		return min(2*p.interval, incidentsWaited)
	}
	return seekInterval
}

// checkIncidents reads some open incidents themselves, the longest unread first. Their index is a hint: a worker that
// slept may add an incident after it has closed, or after its device has left the fleet.
func (p *poller) checkIncidents(ctx context.Context) error {
	for _, i := range p.open.unchecked(p.account.number, time.Now()) {
		_, open, err := p.account.fleet.Incidents().StillOpen(ctx, i.Transition)
		if open && err == nil {
			open, err = p.closedIfLeft(ctx, i.ID.Device)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, query.ErrNoIncident) {
			p.accounts.log.Warn("incident cannot be checked", "incident", i.ID.String(), "error", err)
		}
		p.open.checked(p.account.number, i, open || err != nil)
	}
	return nil
}

// closedIfLeft closes the incidents of a device that has left the fleet, and reports whether it has not.
func (p *poller) closedIfLeft(ctx context.Context, id schema.DeviceID) (remains bool, err error) {
	d, found, err := p.account.fleet.Devices().Record(ctx, id)
	if err != nil || !found || !d.Status.Left() {
		return true, err
	}
	_, err = p.account.fleet.Incidents().Close(ctx, d)
	return err != nil, err
}

// due returns the tenants whose incidents were not read for an interval, the longest unread first: all that were never
// read, as what is counted would lack theirs.
func (o *openSet) due(all []tenantIn, interval time.Duration) []tenantIn {
	o.mu.RLock()
	defer o.mu.RUnlock()
	read := func(one tenantIn) (at time.Time) {
		if t := o.of[one]; t != nil {
			at = t.read
		}
		return at
	}
	all = slices.DeleteFunc(all, func(t tenantIn) bool { return time.Since(read(t)) < interval })
	slices.SortStableFunc(all, func(a, b tenantIn) int { return read(a).Compare(read(b)) })
	unread := 0
	for unread < len(all) && read(all[unread]).IsZero() {
		unread++
	}
	return all[:min(len(all), max(unread, openTenants))]
}

// replace takes what was read of a tenant.
func (o *openSet) replace(tenant tenantIn, x query.OpenIndex, mutes []schema.Mute) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.of[tenant]
	if t == nil {
		t = &tenantOpen{checked: map[schema.IncidentID]time.Time{}}
		o.of[tenant] = t
	}
	now := tables.TicksOf(time.Now())
	checked, closed := map[schema.IncidentID]time.Time{}, map[string]bool{}
	x.Open = slices.DeleteFunc(x.Open, func(i query.Incident) bool {
		_, row := i.IndexRow()
		if t.closed[row] {
			closed[row] = true
		}
		return closed[row]
	})
	for n := range x.Open {
		i := &x.Open[n]
		mutesIt := func(m schema.Mute) bool { return m.Mutes(i.Transition, now) }
		i.Muted = slices.ContainsFunc(mutes, mutesIt) || slices.ContainsFunc(x.Mutes, mutesIt)
		if at, known := t.checked[i.ID]; known {
			checked[i.ID] = at
		}
	}
	t.OpenIndex, t.read, t.checked, t.closed = x, time.Now(), checked, closed
	o.version++
}

// unchecked returns the incidents of an account to check next.
func (o *openSet) unchecked(in uint16, now time.Time) (all []query.Incident) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	before := tables.TicksOf(now.Add(-checkedAfter))
	for tenant, t := range o.of {
		if tenant.account != in {
			continue
		}
		for _, i := range t.Open {
			if i.Found < before && now.Sub(t.checked[i.ID]) >= checkedAgain {
				all = append(all, i)
			}
			if len(all) == checkedPerPoll {
				return all
			}
		}
	}
	return all
}

// checked notes that an incident was read.
func (o *openSet) checked(in uint16, i query.Incident, open bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.of[tenantIn{i.Home.Tenant, in}]
	if t == nil {
		return
	}
	if t.checked[i.ID] = time.Now(); open {
		return
	}
	_, row := i.IndexRow()
	t.closed[row] = true
	t.Open = slices.DeleteFunc(slices.Clone(t.Open), func(other query.Incident) bool { return other.ID == i.ID })
	o.version++
}

// ofTenant returns the open incidents of a tenant, or of all for the empty one, the newest first, and whether there are
// more.
func (o *openSet) ofTenant(tenant string) (all []query.Incident, more bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	for name, t := range o.of {
		if tenant == "" || tenant == string(name.Tenant) {
			all, more = append(all, t.Open...), more || t.More
		}
	}
	slices.SortFunc(all, func(a, b query.Incident) int { return strings.Compare(a.ID.Key(), b.ID.Key()) })
	return all, more
}

// current returns the version.
func (o *openSet) current() uint64 {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.version
}

// severities returns the greatest severity of the open incidents of each device, by tenant, without muted ones.
func (o *openSet) severities() map[string]map[string]uint8 {
	o.mu.RLock()
	defer o.mu.RUnlock()
	all := map[string]map[string]uint8{}
	for in, t := range o.of {
		of := all[string(in.Tenant)]
		if of == nil {
			of = map[string]uint8{}
			all[string(in.Tenant)] = of
		}
		for _, i := range t.Open {
			if id := string(i.ID.Device); !i.Muted {
				of[id] = max(of[id], severityOf(i.Severity))
			}
		}
	}
	return all
}

// refresh has the incidents of a tenant read at the next poll: somebody has changed one.
func (o *openSet) refresh(tenant tenantIn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if t := o.of[tenant]; t != nil {
		t.read = time.Time{}
	}
}
