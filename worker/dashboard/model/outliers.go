package model

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/outliers"
	"furrow/worker/query"
)

// An OutlierQuery asks for devices that stand out.
type OutlierQuery struct {
	Filter
	By    schema.By `query:"by"`         // groups of the devices whose site has too few; empty: none
	Limit int       `query:"limit,page"` // 0: DefaultListed
}

// An OutlierList is the answer of /v1/outliers.
type OutlierList struct {
	Rows     []answers.Outlier `json:"rows"`     // the most urgent first
	Total    int               `json:"total"`    // that stand out
	Compared int               `json:"compared"` // devices with enough neighbours
	// Some devices were not compared, or by their newest values only, because there are too many.
	Some bool `json:"some,omitempty"`
	Counted
}

// OutlierAnswers find the devices that stand out.
type OutlierAnswers struct {
	accounts *Accounts
	tenants  *Tenants
	decider  *decider
	found    cache[tenantOutliers]
	recent   cache[recentWindows]
	rejects  cache[map[schema.DeviceID]int]
}

const (
	recentAge   = 5 * time.Minute  // of windows and rejects, which storage is asked for
	foundAge    = 15 * time.Second // of what is found by newest values, which are in memory
	mostAtATime = 200_000          // devices that are compared for one answer
	mostTenants = 100              // of these devices
	// comparedPages limits the pages of windows that are read for one answer: all of 20,000 devices.
	comparedPages = 120
)

// recentWindows are those of a tenant.
type recentWindows struct {
	*query.Recent
	some bool // of some devices
}

// tenantOutliers are those of a tenant.
type tenantOutliers struct {
	all      []query.Outlier
	compared int
	some     bool
}

// List returns the devices that stand out. Newest values and states are in memory; windows and rejects are read from
// storage, and shared by all requests for five minutes.
func (oa *OutlierAnswers) List(ctx context.Context, q OutlierQuery) (OutlierList, error) {
	out := OutlierList{Rows: []answers.Outlier{}}
	var err error
	if q.Filter, err = oa.decider.ready(ctx, q.Filter); err != nil {
		return out, err
	}
	q.Limit = cmp.Or(q.Limit, DefaultListed)
	tenants, devices := oa.tenants.tallies(ctx), 0
	if q.Tenant != "" {
		tenants = slices.DeleteFunc(tenants, func(t Tenant) bool { return t.Tenant != q.Tenant })
	}
	for i, t := range tenants {
		if devices += t.Devices; i > 0 && devices > mostAtATime || i == mostTenants {
			tenants, devices, out.Some = tenants[:i], devices-t.Devices, true
			break
		}
	}
	own := oa.ofTenants()
	found := make([]tenantOutliers, len(tenants))
	err = each(ctx, len(tenants), func(ctx context.Context, i int) (err error) {
		pages := comparedPages * tenants[i].Devices / max(1, devices)
		name := tenants[i].Tenant
		found[i], err = oa.ofTenant(ctx, schema.Tenant(name), own[name], q.By, max(2, pages))
		return err
	})
	if err != nil {
		return out, err
	}
	var all []query.Outlier
	for _, one := range found {
		all = append(all, one.all...)
		out.Compared, out.Some = out.Compared+one.compared, out.Some || one.some
	}
	slices.SortStableFunc(all, func(a, b query.Outlier) int { return outliers.Compare(a.Outlier, b.Outlier) })
	of := oa.accounts.index.selected(q.Filter, oa.accounts.now())
	for _, o := range all {
		if !oa.accounts.index.includes(of, o.Device) {
			continue
		}
		if out.Total++; len(out.Rows) < q.Limit {
			out.Rows = append(out.Rows, answers.OutlierOf(o))
		}
	}
	return out, nil
}

// ofTenant finds those of a tenant.
func (oa *OutlierAnswers) ofTenant(
	ctx context.Context, tenant schema.Tenant, devices []int32, by schema.By, pages int,
) (tenantOutliers, error) {
	key := fmt.Sprintf("%q %s", tenant, by)
	return oa.found.lately(ctx, key, foundAge, func(ctx context.Context) (tenantOutliers, error) {
		recent, err := oa.recent.get(ctx, string(tenant), recentAge, func(ctx context.Context) (recentWindows, error) {
			return oa.accounts.recentOf(ctx, tenant, pages)
		})
		if err != nil {
			return tenantOutliers{}, err
		}
		rejects, err := oa.rejects.get(ctx, string(tenant), recentAge, func(
			ctx context.Context,
		) (map[schema.DeviceID]int, error) {
			return oa.accounts.rejecting(ctx, tenant)
		})
		if err != nil {
			return tenantOutliers{}, err
		}
		x, configured := oa.accounts.index, oa.accounts.Configured()
		found := outliers.Find(oa.compared(devices, by, recent.Recent, rejects))
		out := tenantOutliers{compared: found.Compared, some: recent.some}
		for _, o := range found.Outliers {
			out.all = append(out.all, query.Outlier{Outlier: o, Tenant: tenant, Site: schema.Site(x.siteOf(o.Device)),
				Window: recent.Window, Unit: configured.unit(o.Sensor, x.modelOf(string(o.Device)))})
		}
		return out, nil
	})
}

// recentOf reads the last windows of a tenant.
func (as *Accounts) recentOf(ctx context.Context, tenant schema.Tenant, pages int) (r recentWindows, err error) {
	r.Recent = query.RecentOf(as.Configured().windows(), time.Now())
	if r.Window == 0 {
		return r, nil
	}
	all := as.sampled(ctx, query.Question{Span: r.Span, Window: r.Window}, tenant, pages, &r.some)
	err = r.Take(cut(all, &r.some))
	return r, err
}

// rejecting returns how many readings of devices of a tenant were rejected in the last day.
func (as *Accounts) rejecting(ctx context.Context, tenant schema.Tenant) (map[schema.DeviceID]int, error) {
	all, err := everywhere(ctx, as, func(ctx context.Context, a *account) (map[schema.DeviceID]int, error) {
		return a.fleet.Rejecting(ctx, a.anyPipeline(), query.DeviceSelector{Tenant: tenant}, time.Now())
	})
	rejects := map[schema.DeviceID]int{}
	for _, own := range all {
		maps.Copy(rejects, own)
	}
	return rejects, err
}

// ofTenants returns the positions of the devices of each tenant.
func (oa *OutlierAnswers) ofTenants() map[string][]int32 {
	x := oa.accounts.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	all := map[string][]int32{}
	for i, d := range x.inFleet() {
		tenant := x.tenants.text(d.tenant)
		all[tenant] = append(all[tenant], int32(i))
	}
	return all
}

// compared returns what of some devices of a tenant is compared.
func (oa *OutlierAnswers) compared(
	devices []int32, by schema.By, recent *query.Recent, rejects map[schema.DeviceID]int,
) (all []outliers.Device) {
	x, now := oa.accounts.index, oa.accounts.now()
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, i := range devices {
		d := &x.devices[i]
		state, n := d.state(now), rejects[schema.DeviceID(d.id)]
		if state == Unheard && n > 0 { // nothing that it has sent was a reading
			all = append(all, outliers.Device{ID: d.id, Rejects: n})
		}
		if state == Revoked || state == Unheard {
			continue
		}
		one := x.neighbours(d, by)
		one.Rejects = n
		if since := d.overdueSince(now); since != nil {
			one.Silent = *since
		}
		for _, v := range d.values {
			name := x.sensors.all[v.sensor]
			if _, is := Rated(name); is || v.flags&(isText|isDoubtful) != 0 || !x.meant[d.model].Compares(name) {
				continue
			}
			one.Sensors = append(one.Sensors, outliers.Sensor{Name: name, Value: v.number,
				At: time.Unix(int64(v.time), 0), Windows: recent.WindowsOf(schema.DeviceID(d.id), name)})
		}
		all = append(all, one)
	}
	return all
}

// includes reports whether a selection has a device.
func (x *index) includes(of *selection, id string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	i, known := x.at[id]
	return known && of.includes(i)
}
