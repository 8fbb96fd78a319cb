package query

import (
	"context"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// A NameError says that what was asked for can be the id, the prefix or the
// tenant of no device.
type NameError struct{ error }

// A Scope is the devices that a question is about: one, those of a tenant, or
// those whose ids begin with a prefix.
type Scope struct {
	text   string
	device *schema.Member // the one
	ids    tables.Keys    // of a device or a prefix
	tenant schema.Tenant  // all devices of it
	homes  []home         // where devices of the prefix are, or the one; nil for a tenant
}

// A home is what the partitions of a device's outputs are named after.
type home struct {
	tenant schema.Tenant
	month  schema.Month
}

// String says what the question is about, for messages.
func (s Scope) String() string { return s.text }

// Device is the scope of one device, which has to exist.
func (s Source) Device(ctx context.Context, id string) (Scope, error) {
	device, err := schema.ParseDeviceID(id)
	if err != nil {
		return Scope{}, &NameError{err}
	}
	m, err := s.member(ctx, device)
	if err != nil {
		return Scope{}, err
	}
	return Scope{text: id, device: &m, ids: tables.Is(id), homes: []home{{m.Tenant, m.Month}}}, nil
}

// Prefix is the scope of the devices whose ids begin with prefix. It reads who
// they are, a thousand at a time.
func (s Source) Prefix(ctx context.Context, prefix string) (Scope, error) {
	keys, err := schema.IDsWithPrefix(prefix)
	if err != nil {
		return Scope{}, &NameError{err}
	}
	scope := Scope{text: "devices " + prefix + "…", ids: keys}
	found := map[home]bool{}
	for m, err := range s.members(ctx, keys, 0) {
		if err != nil {
			return Scope{}, err
		}
		if h := (home{m.Tenant, m.Month}); !found[h] {
			found[h] = true
			scope.homes = append(scope.homes, h)
		}
	}
	if len(scope.homes) == 0 {
		return Scope{}, s.unknown(ctx, prefix)
	}
	slices.SortFunc(scope.homes, func(a, b home) int { return compareText(a, b) })
	return scope, nil
}

// Tenant is the scope of all devices of a tenant, whether or not it has any.
func (s Source) Tenant(tenant string) (Scope, error) {
	t, err := schema.ParseTenant(tenant)
	if err != nil {
		return Scope{}, &NameError{err}
	}
	return Scope{text: "tenant " + tenant, tenant: t}, nil
}

// tenants are whose devices these are.
func (s Scope) tenants() []schema.Tenant {
	if s.homes == nil {
		return []schema.Tenant{s.tenant}
	}
	var all []schema.Tenant
	for _, h := range s.homes {
		all = append(all, h.tenant)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func compareText(a, b home) int {
	if a.tenant != b.tenant {
		if a.tenant < b.tenant {
			return -1
		}
		return 1
	}
	return a.month.Compare(b.month)
}
