package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"furrow/tables/schema"
	"furrow/worker/query"
)

// A home has the devices of one tenant and month that were selected, and where their outputs are.
type home struct {
	schema.LatestPartition
	ids  []string // selected, in order
	runs []run    // that together have them, in order
}

// A run is a range of IDs, whose outputs are read as a whole, with those of a few devices that were not selected.
type run struct{ first, last string }

// A candidate is a device of a home.
type candidate struct {
	id       string
	selected bool
}

// selectedHomes returns the selected devices by tenant and month. Devices that are at most so many apart are in one
// run.
// It is ErrUnknown where ids names a device that the filter does not select; without ids, all are that it selects. With
// former, devices are also where their former tenants have outputs, unless the filter asks for more than a tenant: the
// index knows devices as they are now.
func (s *Store) selectedHomes(filter Filter, prefix string, ids []string, apart int, former bool) ([]home, error) {
	chosen := map[string]bool{}
	for _, id := range ids {
		chosen[id] = true
	}
	x := s.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	m := x.matcher(filter, s.silence())
	type place struct{ tenant, month uint16 }
	all := map[place][]candidate{}
	for i := range x.devices {
		d := &x.devices[i]
		at := place{d.tenant, d.month}
		is := strings.HasPrefix(d.id, prefix) && (len(ids) == 0 || chosen[d.id]) && m.matches(d)
		if all[at] = append(all[at], candidate{d.id, is}); is {
			delete(chosen, d.id)
		}
	}
	for id, tenants := range x.former {
		if !former || filter != (Filter{Tenant: filter.Tenant}) {
			break
		}
		for _, tenant := range tenants {
			at := place{tenant, x.devices[x.at[id]].month}
			is := strings.HasPrefix(id, prefix) && (len(ids) == 0 || slices.Contains(ids, id)) &&
				(filter.Tenant == "" || filter.Tenant == x.tenants.text(uint32(tenant)))
			if all[at] = append(all[at], candidate{id, is}); is {
				delete(chosen, id)
			}
		}
	}
	for id := range chosen {
		return nil, fmt.Errorf("device %s: %w", id, ErrUnknown)
	}
	var homes []home
	for at, candidates := range all {
		tenant := schema.Tenant(x.tenants.text(uint32(at.tenant)))
		h := home{LatestPartition: schema.LatestPartition{Tenant: tenant, Month: x.monthOf[at.month]}}
		if h.add(candidates, apart); len(h.ids) > 0 {
			homes = append(homes, h)
		}
	}
	slices.SortFunc(homes, func(a, b home) int { return a.compare(b.LatestPartition) })
	return homes, nil
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
func (h home) compare(p schema.LatestPartition) int {
	return cmp.Or(cmp.Compare(h.Tenant, p.Tenant), h.Month.Compare(p.Month))
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

// homesOf returns what is read for homes.
func homesOf(homes []home) (all []query.Home) {
	for _, h := range homes {
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
