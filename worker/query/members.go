package query

import (
	"context"
	"iter"
	"slices"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// A DeviceSelector selects the devices of a fleet that match every field that is set.
// The zero value selects all devices.
type DeviceSelector struct {
	Device schema.DeviceID
	Prefix string // of the ID
	Tenant schema.Tenant

	site schema.Site // with neither Device nor Prefix
}

func (s DeviceSelector) ids() (tables.Keys, error) {
	if s.Device != "" {
		return tables.Is(string(s.Device)), nil
	}
	keys, err := schema.IDsWithPrefix(s.Prefix)
	if keys == (tables.Keys{}) {
		keys.From = "-" // before all IDs
	}
	return keys, err
}

func (s DeviceSelector) selects(d schema.DeviceID) bool {
	return (s.Device == "" || d == s.Device) && strings.HasPrefix(string(d), s.Prefix)
}

func (s DeviceSelector) memberships() (keys tables.Keys) {
	if s.Tenant != "" {
		keys = schema.MembersOf(s.Tenant)
	}
	return keys
}

// Members yields the memberships of the selected devices. With a device or a prefix, it
// reads their records and yields them by ID; otherwise it reads month by month, by key.
func (f Devices) Members(ctx context.Context, s DeviceSelector) iter.Seq2[schema.Member, error] {
	return func(yield func(schema.Member, error) bool) {
		if s.Device == "" && s.Prefix == "" {
			f.byMonth(ctx, s, yield)
			return
		}
		ids, err := s.ids()
		if err != nil {
			yield(schema.Member{}, err)
			return
		}
		Mapped(selected(f.Records(ctx, ids, 0), func(d *schema.Device) (bool, error) {
			return s.Tenant == "" || d.Tenant == s.Tenant, nil
		}), schema.Device.Member)(yield)
	}
}

func (f Devices) byMonth(ctx context.Context, s DeviceSelector, yield func(schema.Member, error) bool) {
	each(f.months(ctx), yield, func(month string) bool { return yieldAll(f.membersIn(ctx, month, s), yield) })
}

// MembersOf yields the memberships of the devices that were deployed in a month.
func (f Devices) MembersOf(ctx context.Context, month schema.Month) iter.Seq2[schema.Member, error] {
	return f.membersIn(ctx, month.String(), DeviceSelector{})
}

func (f Devices) membersIn(ctx context.Context, month string, s DeviceSelector) iter.Seq2[schema.Member, error] {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(month), Rows: s.memberships()}}
	if s.site != "" {
		q.Filter = schema.MembersAt(s.site)
	}
	return recordsOf(ctx, f.fleet(), q, schema.MemberOf)
}

// membersOf yields the memberships of a question's devices. Some may not pass its filter.
func (f Devices) membersOf(ctx context.Context, q Question) iter.Seq2[schema.Member, error] {
	if q.Scope.ofTenant() {
		return f.Members(ctx, DeviceSelector{Tenant: q.Scope.tenant, site: q.Filter.Site})
	}
	return func(yield func(schema.Member, error) bool) {
		if d := q.Scope.device; d != nil {
			yield(*d, nil)
			return
		}
		for d, err := range f.Records(ctx, q.Scope.ids, 0) {
			m, selected := d.Member(), true
			if err == nil && len(d.Former) > 0 && q.Filter.byMember() {
				m, selected, err = f.selectedPart(ctx, q, d)
			}
			if selected && !yield(m, err) {
				return
			}
		}
	}
}

// selectedMembers yields those that pass the question's filter.
func (f Devices) selectedMembers(ctx context.Context, q Question) iter.Seq2[schema.Member, error] {
	return selected(f.membersOf(ctx, q), func(m *schema.Member) (bool, error) { return q.SelectsMember(*m), nil })
}

// membershipsOf yields the memberships of a question's devices that pass its filter, device after device.
func (f Devices) membershipsOf(ctx context.Context, q Question) iter.Seq2[[]schema.Member, error] {
	return func(yield func([]schema.Member, error) bool) {
		if d := q.Scope.device; d != nil {
			var all []schema.Member
			for _, h := range q.Scope.homes {
				m := *d
				m.Tenant = h.Tenant
				all = append(all, m)
			}
			yield(all, nil)
			return
		}
		if q.Scope.ofTenant() {
			each(f.selectedMembers(ctx, q), yield, func(m schema.Member) bool { return yield([]schema.Member{m}, nil) })
			return
		}
		for d, err := range f.Records(ctx, q.Scope.ids, 0) {
			var all []schema.Member
			if err == nil {
				all, err = f.memberships(ctx, d)
			}
			all = slices.DeleteFunc(all, func(m schema.Member) bool { return !q.SelectsMember(m) })
			if (err != nil || len(all) > 0) && !yield(all, err) {
				return
			}
		}
	}
}

// selectedPart returns the newest membership of a device that has moved and passes the filter, with the spans of all
// that pass it; false if none does.
func (f Devices) selectedPart(ctx context.Context, q Question, d schema.Device) (m schema.Member, any bool, err error) {
	all, err := f.memberships(ctx, d)
	for _, one := range all {
		if !q.SelectsMember(one) {
			continue
		}
		if !any {
			m, any = one, true
		}
		m.Spans = m.Spans.Join(one.Spans)
	}
	return m, any || err != nil, err
}

// memberships returns the memberships of a device, the current one first.
func (f Devices) memberships(ctx context.Context, d schema.Device) (all []schema.Member, err error) {
	for _, t := range d.Tenants() {
		m, is := d.Of(t), true
		if len(d.Former) > 0 && !d.Status.Left() {
			m, is, err = get(ctx, f.fleet(), m.Month.String(), string(m.Key()), schema.MemberOf)
		}
		if err != nil {
			return nil, err
		}
		if is {
			all = append(all, m)
		}
	}
	return all, nil
}

// MemberOf returns the membership of a device for its tenant, with its spans if it has belonged to others; false if the
// fleet has none.
func (f Devices) MemberOf(ctx context.Context, d schema.Device) (schema.Member, bool, error) {
	m := d.Member()
	if len(d.Former) == 0 || d.Status.Left() {
		return m, true, nil
	}
	return get(ctx, f.fleet(), m.Month.String(), string(m.Key()), schema.MemberOf)
}

// FormerOf returns the membership of a device for a tenant that it belonged to and no longer does; false if there is
// none.
func (f Devices) FormerOf(ctx context.Context, d schema.Device, t schema.Tenant) (m schema.Member, is bool, err error) {
	if !slices.Contains(d.Former, t) {
		return m, false, nil
	}
	if m, is = d.Of(t), true; !d.Status.Left() {
		m, is, err = get(ctx, f.fleet(), m.Month.String(), string(m.Key()), schema.MemberOf)
	}
	return m, is && m.Spans.End() != 0, err
}

// MembersAmong yields the memberships of devices of one tenant and month, which are in the order of their IDs. It takes
// at most a request for each device, and no more than reading all of the tenant and month.
func (f Devices) MembersAmong(
	ctx context.Context, at schema.LatestPartition, ids []string,
) iter.Seq2[schema.Member, error] {
	return func(yield func(schema.Member, error) bool) {
		pages := memberPages{devices: f, at: at}
		for _, id := range ids {
			m, found, err := pages.memberOf(ctx, schema.DeviceID(id))
			if (found || err != nil) && !yield(m, err) {
				return
			}
		}
	}
}

// HasMembership reports whether m is in the fleet.
func (f Devices) HasMembership(ctx context.Context, m schema.Member) (bool, error) {
	_, err := f.fleet().Get(ctx, m.Month.String(), string(m.Key()))
	if tables.Absent(err) {
		return false, nil
	}
	return err == nil, err
}
