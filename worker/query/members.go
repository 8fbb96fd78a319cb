package query

import (
	"context"
	"iter"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// A DeviceSelector selects devices of a fleet: those that meet all fields that are not
// empty. The zero value selects all devices.
type DeviceSelector struct {
	Device schema.DeviceID
	Prefix string // of the ID
	Tenant schema.Tenant
}

// ids are the keys of the IDs that can be selected.
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

// memberships are the RowKeys of the memberships that can be selected.
func (s DeviceSelector) memberships() (keys tables.Keys) {
	if s.Tenant != "" {
		keys = schema.MembersOf(s.Tenant)
	}
	return keys
}

// Members are the memberships of the selected devices: where a device or a prefix is
// selected by their records, in the order of the IDs; otherwise month by month, in the
// order of their keys.
func (f Fleet) Members(ctx context.Context, s DeviceSelector) iter.Seq2[schema.Member, error] {
	if s.Device == "" && s.Prefix == "" {
		return f.byMonth(ctx, s)
	}
	return func(yield func(schema.Member, error) bool) {
		ids, err := s.ids()
		if err != nil {
			yield(schema.Member{}, err)
			return
		}
		for m, err := range f.members(ctx, ids, 0) {
			if (err != nil || s.Tenant == "" || m.Tenant == s.Tenant) && !yield(m, err) {
				return
			}
		}
	}
}

func (f Fleet) byMonth(ctx context.Context, s DeviceSelector) iter.Seq2[schema.Member, error] {
	return func(yield func(schema.Member, error) bool) {
		for month, err := range f.months(ctx) {
			if err != nil {
				yield(schema.Member{}, err)
				return
			}
			part := tables.Range{Partitions: tables.Is(month), Rows: s.memberships()}
			found := rows(ctx, f.fleet(), tables.Query{Range: part})
			for m, err := range decoded(f.fleet(), found, whole(schema.MemberOf)) {
				if !yield(m, err) {
					return
				}
			}
		}
	}
}

// member is the membership of a device, by its record.
func (f Fleet) member(ctx context.Context, id schema.DeviceID) (schema.Member, error) {
	e, err := f.devices().Get(ctx, string(id), schema.DeviceRow)
	if absent(err) {
		return schema.Member{}, f.unknown(ctx, string(id))
	}
	if err != nil {
		return schema.Member{}, err
	}
	m, err := memberOf(e)
	if err != nil {
		err = &UnreadableError{f.devices().Name, e.PartitionKey, e.RowKey, "", err}
	}
	return m, err
}

func memberOf(record tables.Entity) (schema.Member, error) {
	d, err := schema.DeviceOf(record)
	return d.Member(), err
}

// members are the devices with these IDs by their records, in the order of the IDs.
func (f Fleet) members(ctx context.Context, ids tables.Keys, size int) iter.Seq2[schema.Member, error] {
	q := tables.Query{Range: tables.Range{Partitions: ids}, Size: size, Select: schema.DeviceMember()}
	return decoded(f.devices(), rows(ctx, f.devices(), q), whole(memberOf))
}
