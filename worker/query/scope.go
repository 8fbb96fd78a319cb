package query

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// A NameError means that no device can have such an ID, prefix or tenant.
type NameError struct{ error }

// A Scope is the devices that a question is about: one, all of a tenant, or all with a
// prefix in their IDs.
type Scope struct {
	text    string
	device  *schema.Member // the one
	ids     tables.Keys    // of a device or a prefix
	tenant  schema.Tenant  // all devices of it
	homes   []Home         // of the devices, in order; nil for a tenant
	skipped Skipped        // devices whose records cannot be read
}

// A Home selects devices of one tenant and month. Their outputs share partitions.
type Home struct {
	schema.LatestPartition
	IDs tables.Keys

	left bool // all its devices belong to other tenants now
}

func (s Scope) String() string { return s.text }

// ScopeOfDevice returns the scope of one device, which has to exist.
func (f Devices) ScopeOfDevice(ctx context.Context, id string) (Scope, error) {
	device, err := schema.ParseDeviceID(id)
	if err != nil {
		return Scope{}, &NameError{err}
	}
	d, found, err := f.Record(ctx, device)
	if err == nil && !found {
		err = f.unknown(ctx, id)
	}
	if err != nil {
		return Scope{}, err
	}
	scope := ScopeOf(d.Member())
	for _, t := range d.Tenants()[1:] { // their outputs have the device's earlier readings
		scope.homes = append(scope.homes, Home{schema.LatestPartition{Tenant: t, Month: d.Month}, scope.ids, true})
	}
	slices.SortFunc(scope.homes, func(a, b Home) int { return cmp.Compare(a.Tenant, b.Tenant) })
	return scope, nil
}

// ScopeOf returns the scope of a known device.
func ScopeOf(m schema.Member) Scope {
	id := tables.Is(string(m.Device))
	home := Home{schema.LatestPartition{Tenant: m.Tenant, Month: m.Month}, id, false}
	return Scope{text: string(m.Device), device: &m, ids: id, homes: []Home{home}}
}

// OfDevice reports whether the scope is one device.
func (s Scope) OfDevice() bool { return s.device != nil }

// Member returns the membership of the one device of the scope.
func (s Scope) Member() schema.Member { return *s.device }

// Homes returns the scope of the devices in homes, which are sorted by tenant.
func Homes(homes []Home) Scope { return Scope{homes: homes} }

// ScopeOfDevices returns the scope of devices, which are in the order of their IDs, and of the others between them.
func ScopeOfDevices(all []schema.Device) Scope {
	at := map[schema.LatestPartition]int{}
	var scope Scope
	for _, d := range all {
		p := schema.LatestPartition{Tenant: d.Tenant, Month: d.Month}
		i, found := at[p]
		if !found {
			i, at[p] = len(scope.homes), len(scope.homes)
			scope.homes = append(scope.homes, Home{p, tables.Keys{From: string(d.ID)}, false})
		}
		scope.homes[i].IDs.Before = schema.LatestRows(d.ID, d.ID).Before
	}
	return scope
}

// ScopeOfPrefix returns the scope of the devices whose IDs begin with prefix. It reads their
// records, a thousand at a time.
func (f Devices) ScopeOfPrefix(ctx context.Context, prefix string) (Scope, error) {
	keys, err := schema.IDsWithPrefix(prefix)
	if err != nil {
		return Scope{}, &NameError{err}
	}
	scope := Scope{text: "devices " + prefix + "…", ids: keys}
	left := map[schema.LatestPartition]bool{}
	for d, err := range Readable(f.Records(ctx, keys, 0), &scope.skipped) {
		if err != nil {
			return Scope{}, err
		}
		for i, t := range d.Tenants() {
			p := schema.LatestPartition{Tenant: t, Month: d.Month}
			before, found := left[p]
			left[p] = i > 0 && (before || !found)
		}
	}
	for p, left := range left {
		scope.homes = append(scope.homes, Home{p, keys, left})
	}
	if len(scope.homes) == 0 && scope.skipped.N == 0 {
		return Scope{}, f.unknown(ctx, prefix)
	}
	slices.SortFunc(scope.homes, func(a, b Home) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), a.Month.Compare(b.Month))
	})
	return scope, nil
}

// ScopeOfTenant returns the scope of all devices of a tenant, which need not have any.
func (f Devices) ScopeOfTenant(tenant string) (Scope, error) {
	t, err := schema.ParseTenant(tenant)
	if err != nil {
		return Scope{}, &NameError{err}
	}
	return ScopeOfTenant(t), nil
}

// ScopeOfTenant returns the scope of all devices of a known tenant.
func ScopeOfTenant(t schema.Tenant) Scope { return Scope{text: "tenant " + string(t), tenant: t} }

// afterSkipped yields the unreadable devices of the scope, and then the records.
func afterSkipped[R any](s Scope, records iter.Seq2[R, error]) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		for _, err := range s.skipped.First {
			var none R
			if !yield(none, err) {
				return
			}
		}
		records(yield)
	}
}

// tenants returns the owners of the devices.
func (s Scope) tenants() []schema.Tenant {
	if s.ofTenant() {
		return []schema.Tenant{s.tenant}
	}
	var all []schema.Tenant
	for _, h := range s.homes {
		all = append(all, h.Tenant)
	}
	return slices.Compact(all)
}

func (s Scope) ofTenant() bool { return s.tenant != "" }
