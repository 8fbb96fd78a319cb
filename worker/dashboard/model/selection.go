package model

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"furrow/tables/schema"
	"furrow/worker/query"
)

// A home has the devices of one tenant and month that were selected, and where their outputs are.
type home struct {
	located
	ids  []string // selected, in order
	runs []run    // that together have them, in order

	were map[string]schema.Member // those of them that have left the tenant, and what they were then
}

// A run is a range of IDs, whose outputs are read as a whole, with those of a few devices that were not selected.
type run struct{ first, last string }

// A candidate is a device of a home.
type candidate struct {
	id       string
	selected bool
}

// A place is a tenant and a month in an account, by their numbers in the index.
type place struct {
	tenant uint32
	month  uint16
}

// A located partition is one in an account.
type located struct {
	schema.LatestPartition
	account uint16
}

// selectedHomes returns the devices that a question selects by tenant and month. Devices that are at most so many apart
// are in one run. It is ErrUnknown where the question names a device that its filter does not select; if it names none,
// all are that the filter selects.
// With former, devices are also where their former tenants have outputs, if the filter selects what they were then.
func (fr *FleetRows) selectedHomes(ctx context.Context, q FleetQuery, apart int, former bool) ([]home, error) {
	missing := map[string]bool{}
	for _, id := range q.Devices {
		missing[id] = true
	}
	var err error
	if q.Filter, err = fr.decider.decide(ctx, q.Filter); err != nil {
		return nil, err
	}
	all := fr.candidates(q)
	var homes []home
	if former {
		for at, ids := range fr.left(q) {
			were, err := fr.were(ctx, q, at, ids)
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				_, is := were[id]
				all[at] = append(all[at], candidate{id, is})
			}
			homes = append(homes, home{located: fr.accounts.index.partition(at), were: were})
		}
	}
	for at, candidates := range all {
		p := fr.accounts.index.partition(at)
		i := slices.IndexFunc(homes, func(h home) bool { return h.located == p })
		if i < 0 {
			i, homes = len(homes), append(homes, home{located: p})
		}
		homes[i].add(candidates, apart)
		for _, id := range homes[i].ids {
			delete(missing, id)
		}
	}
	for id := range missing {
		return nil, fmt.Errorf("device %s: %w", id, ErrUnknown)
	}
	homes = slices.DeleteFunc(homes, func(h home) bool { return len(h.ids) == 0 })
	slices.SortFunc(homes, func(a, b home) int { return a.compare(b.located) })
	return homes, nil
}

// candidates returns all devices where they are now, and which of them a question selects.
func (fr *FleetRows) candidates(q FleetQuery) map[place][]candidate {
	x, now := fr.accounts.index, fr.accounts.now()
	x.mu.RLock()
	defer x.mu.RUnlock()
	m := x.matcher(q.Filter, now)
	all := map[place][]candidate{}
	for i := range x.devices {
		d := &x.devices[i]
		at := place{d.tenant, d.month}
		all[at] = append(all[at], candidate{d.id, q.names(d.id) && m.matches(i)})
	}
	return all
}

// left returns the devices that tenants have left, as far as a question names them, in the order of their IDs.
func (fr *FleetRows) left(q FleetQuery) map[place][]string {
	x := fr.accounts.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	all := map[place][]string{}
	for id, tenants := range x.former {
		for _, t := range tenants {
			if q.State != "" || !q.names(id) || q.Tenant != "" && q.Tenant != x.tenants.text(t) {
				continue
			}
			at := place{t, x.devices[x.at[id]].month}
			all[at] = append(all[at], id)
		}
	}
	for _, ids := range all {
		slices.Sort(ids)
	}
	return all
}

// names reports whether a question is about a device, as far as its ID tells.
func (q FleetQuery) names(id string) bool {
	return strings.HasPrefix(id, q.Prefix) && (len(q.Devices) == 0 || slices.Contains(q.Devices, id)) &&
		(q.Text == "" || strings.Contains(strings.ToLower(id), strings.ToLower(q.Text)))
}

// partition returns the account, tenant and month of a place.
func (x *index) partition(at place) located {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.located(at)
}

// located returns the account, tenant and month of a place.
func (x *roster) located(at place) located {
	month := x.monthOf[at.month]
	return located{schema.LatestPartition{Tenant: schema.Tenant(x.tenants.text(at.tenant)), Month: month.Month},
		month.account}
}

// were returns what devices were when they left a tenant, of those that a question selects. It reads that only where it
// matters: a tenant does not learn what a device has become.
func (fr *FleetRows) were(ctx context.Context, q FleetQuery, at place, ids []string) (map[string]schema.Member, error) {
	all := map[string]schema.Member{}
	if q.Site == "" && q.Label == "" && q.Model == "" && !q.labels {
		for _, id := range ids {
			all[id] = schema.Member{}
		}
		return all, nil
	}
	p := fr.accounts.index.partition(at)
	found := fr.accounts.all[p.account].fleet.Devices().MembersAmong(ctx, p.LatestPartition, ids)
	for m, err := range query.Readable(found, new(query.Skipped)) {
		if err != nil {
			return nil, err
		}
		if (q.Site == "" || string(m.Site) == q.Site) && isLabeled(m.Labels, q.Label) &&
			(q.Model == "" || fr.accounts.all[p.account].modelOf(m) == q.Model) {
			all[string(m.Device)] = m
		}
	}
	return all, nil
}

// add adds the selected ones of all devices.
func (h *home) add(all []candidate, apart int) {
	slices.SortFunc(all, func(a, b candidate) int { return strings.Compare(a.id, b.id) })
	last := -apart - 2
	for i, c := range all {
		if !c.selected {
			continue
		}
		if h.ids = append(h.ids, c.id); i-last-1 <= apart {
			h.runs[len(h.runs)-1].last = c.id
		} else {
			h.runs = append(h.runs, run{c.id, c.id})
		}
		last = i
	}
}

// compare orders homes as rollups are read.
func (h home) compare(p located) int {
	return cmp.Or(cmp.Compare(h.Tenant, p.Tenant), h.Month.Compare(p.Month), cmp.Compare(h.account, p.account))
}

// has reports whether a device was selected.
func (h *home) has(id string) bool {
	_, found := slices.BinarySearch(h.ids, id)
	return found
}

// from returns the runs without what is in front of a device.
func (h home) from(id string) home {
	h.runs = slices.Clone(h.runs)
	for len(h.runs) > 0 && h.runs[0].last < id {
		h.runs = h.runs[1:]
	}
	if len(h.runs) > 0 {
		h.runs[0].first = max(h.runs[0].first, id)
	}
	return h
}

// homesOf returns what is read for homes in an account.
func homesOf(in uint16, homes []home) (all []query.Home) {
	for _, h := range homes {
		if h.account != in {
			continue
		}
		for _, r := range h.runs {
			keys := schema.Buckets(schema.DeviceID(r.first), schema.DeviceID(r.last))
			all = append(all, query.Home{LatestPartition: h.LatestPartition, IDs: keys})
		}
	}
	return all
}

// counted returns how many devices and runs homes have.
func counted(homes []home) (devices, runs int) {
	for _, h := range homes {
		devices += len(h.ids)
		runs += len(h.runs)
	}
	return devices, runs
}
